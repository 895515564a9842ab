-- Rounds: a question bank, contestants, their answers, and what a scorer says of them.

create table rounds (
    id          uuid primary key,
    name        text not null,
    scorer      text not null,
    strict      boolean not null,
    seed        integer not null,
    max_tokens  integer not null check (max_tokens > 0),
    anchor      text,
    created_at  timestamptz not null default now()
);
create index rounds_by_age on rounds (created_at desc, id);

create table round_questions (
    round     uuid not null references rounds (id),
    question  text not null,
    place     integer not null,
    category  text not null,
    language  text not null,
    turns     text[] not null check (cardinality(turns) > 0),
    digest    bytea not null,
    primary key (round, question)
);
create index round_questions_by_prompt on round_questions (round, digest);

-- Contestants of a round need not be contestants of the arena: their answers may come from elsewhere.
create table round_contestants (
    round       uuid not null references rounds (id),
    contestant  text not null,
    place       integer not null,
    made_here   boolean not null,
    primary key (round, contestant)
);

-- One row an answer, from asking to its place in the totals: the outbox of the pipeline, and the third level of its
-- caches. Scores are whole millionths, so that their sum is the same in any order.
create table round_answers (
    number        bigint generated always as identity primary key,
    id            uuid not null unique,
    round         uuid not null,
    question      text not null,
    contestant    text not null,
    stage         text not null check (stage in ('pending', 'answered', 'scored', 'abstained', 'failed', 'parked')),
    texts         text[],
    failures      integer not null default 0,
    error         text,
    score         bigint,
    detail        jsonb,
    revision      text,
    request_key   bytea,
    score_key     bytea,
    batch         uuid,
    leased_by     text,
    leased_until  timestamptz,
    merged        boolean not null default false,
    asked_at      timestamptz not null default now(),
    answered_at   timestamptz,
    scored_at     timestamptz,
    -- In this order it also finds all answers to a question.
    unique (round, question, contestant),
    foreign key (round, question) references round_questions (round, question),
    foreign key (round, contestant) references round_contestants (round, contestant),
    check ((stage = 'scored') = (score is not null)),
    check (stage in ('pending', 'failed') or texts is not null)
);
create index round_answers_pending on round_answers (contestant, number) where stage = 'pending';
create index round_answers_held on round_answers (leased_by, contestant)
    where stage = 'pending' and leased_by is not null;
create index round_answers_unbound on round_answers (number) where stage = 'answered' and batch is null;
create index round_answers_answered on round_answers (answered_at) where stage = 'answered';
create index round_answers_parked on round_answers (round, number) where stage in ('parked', 'failed');
create index round_answers_by_request on round_answers (request_key) where request_key is not null and texts is not null;
create index round_answers_by_score on round_answers (score_key) where score_key is not null and score is not null;
create index round_answers_of_batch on round_answers (batch) where batch is not null and not merged;

-- What the pipeline has in hand; a batch that is done is gone. One whose lease is over is taken up by whoever finds it.
create table round_batches (
    id            uuid primary key,
    step          text not null default 'score' check (step in ('score', 'merge', 'board')),
    rounds        uuid[] not null,
    answers       integer not null,
    tries         integer not null default 0,
    made_at       timestamptz not null default now(),
    leased_until  timestamptz not null
);

-- Sums that equal a recount of the merged answers, always.
create table round_totals (
    round       uuid not null references rounds (id),
    contestant  text not null,
    scored      bigint not null default 0,
    score       bigint not null default 0,
    primary key (round, contestant)
);

-- Each look at how far the reduced engine has drifted from the full one, with its evidence.
create table drift_checks (
    id          bigint generated always as identity primary key,
    revision    text not null,
    engine      text not null,
    verdict     text not null,
    figures     jsonb not null,
    evidence    jsonb not null,
    checked_at  timestamptz not null default now()
);
create index drift_checks_by_age on drift_checks (revision, id desc);

-- Engines that have been rolled back, until somebody restores them or another one is built.
create table engines_rolled_back (
    revision   text not null,
    engine     text not null,
    check_id   bigint references drift_checks (id),
    since      timestamptz not null default now(),
    primary key (revision, engine)
);
