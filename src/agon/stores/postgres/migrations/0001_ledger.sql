-- The ledger: who can fight, what was asked and answered, how it was judged.

create table contestants (
    name            text primary key,
    kind            text not null check (kind in ('embedded', 'openai')),
    model           text not null,
    url             text,
    key_env         text,
    sha256          text,
    weight          double precision not null check (weight >= 0),
    max_concurrent  integer not null check (max_concurrent > 0),
    state           text not null check (state in ('active', 'paused', 'removed')),
    origin          text not null check (origin in ('default', 'config', 'admin')),
    created_at      timestamptz not null default now(),
    updated_at      timestamptz not null default now()
);

create table conversations (
    id               uuid primary key,
    kind             text not null check (kind in ('battle', 'side_by_side', 'chat')),
    person           uuid not null,
    contestant_a     text not null references contestants (name),
    contestant_b     text references contestants (name),
    propensity       double precision,
    void_reason      text,
    created_at       timestamptz not null default now(),
    check (contestant_a <> contestant_b),
    check ((kind = 'chat') = (contestant_b is null))
);
create index conversations_of_person on conversations (person, created_at desc, id);

create table turns (
    conversation     uuid not null references conversations (id),
    turn             integer not null check (turn > 0),
    prompt           text not null,
    seed             integer not null,
    max_tokens       integer not null,
    idempotency_key  text,
    created_at       timestamptz not null default now(),
    primary key (conversation, turn)
);

-- A key that starts a conversation is the person's; this is what makes a repeated start the same start.
create table starts (
    person           uuid not null,
    idempotency_key  text not null,
    conversation     uuid not null references conversations (id),
    primary key (person, idempotency_key)
);

create table answers (
    conversation       uuid not null,
    turn               integer not null,
    side               text not null check (side in ('a', 'b')),
    contestant         text not null,
    state              text not null default 'pending' check (state in ('pending', 'done', 'stopped', 'failed')),
    attempt            integer not null default 1,
    failures           integer not null default 0,
    text               text,
    finish_reason      text,
    error              text,
    prompt_tokens      integer,
    completion_tokens  integer,
    ttft_ms            double precision,
    duration_ms        double precision,
    asked_at           timestamptz not null default now(),
    settled_at         timestamptz,
    primary key (conversation, turn, side),
    foreign key (conversation, turn) references turns (conversation, turn)
);
create index answers_pending on answers (asked_at) where state = 'pending';
create index answers_first_token on answers (contestant, settled_at desc) where state = 'done';

-- txid lets a reader go through the votes without missing one that commits late.
create table votes (
    id               bigint generated always as identity primary key,
    receipt          uuid not null unique,
    conversation     uuid not null unique references conversations (id),
    person           uuid not null,
    winner           text not null check (winner in ('a', 'b', 'tie', 'both_bad')),
    idempotency_key  text,
    contestant_a     text not null,
    contestant_b     text not null,
    created_at       timestamptz not null default now(),
    txid             xid8 not null default pg_current_xact_id()
);
create index votes_in_commit_order on votes (txid, id);

-- Only hashes: a key is shown once, when it is made.
create table admin_keys (
    hash        bytea primary key,
    created_at  timestamptz not null default now()
);
