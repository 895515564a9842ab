-- A side of a battle that does not answer in time has lost it.
alter table answers drop constraint answers_state_check;
alter table answers add constraint answers_state_check
    check (state in ('pending', 'done', 'stopped', 'failed', 'forfeited'));

alter table conversations add column forfeited_by text check (forfeited_by in ('a', 'b'));
alter table conversations add constraint conversations_forfeit_check
    check (forfeited_by is null or (kind = 'battle' and void_reason is null));
create index conversations_forfeited on conversations (id) where forfeited_by is not null;

-- Battles that a forfeit has decided: written once the other side is over too, since that side may still make the
-- battle void. Numbered together with the votes, as both are read as one series, in order of txid.
create table forfeits (
    id               bigint primary key default nextval('votes_id_seq'),
    conversation     uuid not null unique references conversations (id),
    winner           text not null check (winner in ('a', 'b')),
    contestant_a     text not null,
    contestant_b     text not null,
    created_at       timestamptz not null default now(),
    txid             xid8 not null default pg_current_xact_id()
);
create index forfeits_in_commit_order on forfeits (txid, id);

-- Forfeited battles have texts too.
alter table vote_traits drop constraint vote_traits_vote_fkey;
