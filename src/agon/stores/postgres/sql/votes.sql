-- name: lock_battles
-- Locks the battles of a batch of ballots, always in the same order so that two batches cannot wait for each other.
select id, person, kind, void_reason, forfeited_by, contestant_a, contestant_b
from conversations where id = any($1::uuid[])
order by id for no key update;

-- name: battle_facts
-- For locked battles: whether every answer is done, and the vote if there is one.
select b.id,
       not exists (select from answers a where a.conversation = b.id and a.state <> 'done') as all_done,
       v.receipt, v.winner, v.idempotency_key, v.created_at
from unnest($1::uuid[]) as b (id)
-- The limit keeps this a look-up for each battle: as a plain join, a young table's statistics get it scanned whole.
left join lateral (select * from votes where conversation = b.id limit 1) v on true;

-- name: insert_votes
-- The accepted ballots of a batch.
insert into votes (receipt, conversation, person, winner, idempotency_key, contestant_a, contestant_b)
select * from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::text[])
returning receipt, created_at;

-- name: find_vote
-- The vote behind a receipt.
select receipt, winner, idempotency_key, created_at, contestant_a, contestant_b from votes where receipt = $1;

-- name: adopt_restored_votes
-- Votes that came from another server's dump carry its transaction numbers, which this one has not reached.
update votes set txid = pg_current_xact_id() where txid >= pg_snapshot_xmax(pg_current_snapshot());

-- name: adopt_restored_forfeits
-- The same of forfeits.
update forfeits set txid = pg_current_xact_id() where txid >= pg_snapshot_xmax(pg_current_snapshot());

-- name: vote_horizon
-- Every transaction below this one has ended: what they wrote can be read without gaps.
select pg_snapshot_xmin(pg_current_snapshot())::text as horizon;

-- name: follow_indexes
-- Until the end of the transaction. A planner that knows little of a table would sort all that is left for each page.
select set_config('enable_sort', 'off', true), set_config('enable_bitmapscan', 'off', true);

-- name: votes_between
-- The next votes and forfeits behind a place, of transactions below another, with their traits by these rules.
with counted as (
    (select txid, id, contestant_a, contestant_b, winner, created_at, false as forfeit
     from votes where (txid, id) > ($1::text::xid8, $2::bigint) and txid < $3::text::xid8
     order by txid, id limit $4)
    union all
    (select txid, id, contestant_a, contestant_b, winner, created_at, true
     from forfeits where (txid, id) > ($1::text::xid8, $2::bigint) and txid < $3::text::xid8
     order by txid, id limit $4)
    order by txid, id limit $4
)
select v.txid::text as txid, v.id, v.contestant_a, v.contestant_b, v.winner, v.created_at, v.forfeit, t.categories,
       t.tokens_a, t.headers_a, t.lists_a, t.bold_a, t.tokens_b, t.headers_b, t.lists_b, t.bold_b
from counted v
-- The limit keeps this a look-up for each vote: as a plain join, all traits are read for each page.
left join lateral (select * from vote_traits where vote = v.id and version = $5 limit 1) t on true;
