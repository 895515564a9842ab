-- name: lock_opening
-- Whoever opens batches counts alone those that are open.
select pg_advisory_xact_lock(hashtext('round_batches.open'));

-- name: open_batches
-- Binds the oldest answers that are to be scored into as many batches as may still be open.
with picked as materialized (
    select a.number, a.round
    from round_answers a join rounds r on r.id = a.round
    where a.stage = 'answered' and a.batch is null and (a.leased_until is null or a.leased_until <= now())
        and (r.anchor is null or a.contestant = r.anchor or exists (
            select from round_answers x
            where x.round = a.round and x.contestant = r.anchor and x.question = a.question and x.stage <> 'pending'
        ))
    order by a.number
    limit $2 * greatest(0, $1 - (select count(*) from round_batches))
    for update of a skip locked
), parts as (
    select number, round, (row_number() over (order by number) - 1) / $2 as part from picked
), batches as materialized (
    select part, gen_random_uuid() as id, array_agg(distinct round) as rounds, count(*) as answers from parts group by part
), opened as (
    insert into round_batches (id, rounds, answers, leased_until)
    select id, rounds, answers, now() + make_interval(secs => $3) from batches
), bound as (
    update round_answers a set batch = b.id, leased_until = null
    from parts p join batches b using (part) where a.number = p.number
)
select id from batches order by part;

-- name: overdue_batches
-- Leases anew what nobody has been at for too long, each to one who asks.
update round_batches b set leased_until = now() + make_interval(secs => $1)
from (select id from round_batches where leased_until <= now() order by made_at for update skip locked) o
where b.id = o.id
returning b.id, b.step;

-- name: begin_batch
-- Somebody begins to score it.
update round_batches set leased_until = now() + make_interval(secs => $2), tries = tries + 1
where id = $1 and step = 'score' returning tries;

-- name: break_off_batch
-- Something was away: the last beginning does not count.
update round_batches set tries = greatest(0, tries - 1) where id = $1 and step = 'score';

-- name: renew_batch
-- Somebody is at it.
update round_batches set leased_until = now() + make_interval(secs => $2) where id = $1;

-- name: load_batch
-- What of a batch is still to be scored, as scorers see it.
select a.number, a.contestant, a.failures, r.scorer, array_to_string(q.turns, $2) as prompt,
       array_to_string(a.texts, $2) as answer, array_to_string(x.texts, $2) as reference
from round_answers a
join rounds r on r.id = a.round
join round_questions q on q.round = a.round and q.question = a.question
left join round_answers x on x.round = a.round and x.contestant = r.anchor and x.question = a.question
where a.batch = $1 and not a.merged and a.stage = 'answered'
order by a.number;

-- name: write_verdicts
-- What a scorer said of answers; true if none is left, and the batch goes on.
-- A poisoned one leaves its batch, to rest and come again or to be parked. The batch is locked first, and whoever finds it a step further writes nothing.
with here as materialized (
    select id from round_batches where id = $1 and step = 'score' for update
), written as (
    update round_answers a
    set stage = case when s.kind <> 'poison' then s.kind when a.failures + 1 >= $9 then 'parked' else a.stage end,
        failures = a.failures + (s.kind = 'poison')::integer,
        score = s.score, detail = s.detail::jsonb, error = s.error, revision = s.revision, score_key = s.score_key,
        batch = case when s.kind = 'scored' then a.batch end,
        leased_until = case when s.kind = 'poison' and a.failures + 1 < $9 then now() + make_interval(secs => $10) end,
        scored_at = now()
    from unnest($2::bigint[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::bytea[])
         as s (number, kind, score, detail, error, revision, score_key)
    where exists (select from here)
        and a.number = s.number and a.batch = $1 and not a.merged and a.stage = 'answered'
)
update round_batches set step = 'merge'
where id = (select id from here) and step = 'score' and not exists (
    select from round_answers where batch = $1 and not merged and stage = 'answered' and number <> all ($2)
)
returning true as goes_on;

-- name: put_aside
-- Answers that cannot be scored just now leave their batch until the pause is over.
update round_answers set batch = null, leased_until = now() + make_interval(secs => $3)
where number = any($2::bigint[]) and batch = $1 and not merged and stage = 'answered';

-- name: merge_scores
-- Moves what of a batch is scored into the totals, once; returns its rounds.
-- Whoever sees the batch at this step sees all its scores, too, since none is written from then on. All go through contestants in the same order.
with here as materialized (
    select id from round_batches where id = $1 and step = 'merge' for update
), moved as (
    update round_answers set merged = true
    where exists (select from here) and batch = $1 and not merged and stage = 'scored'
    returning round, contestant, score
), counted as (
    insert into round_totals (round, contestant, scored, score)
    select round, contestant, count(*), sum(score)::bigint from moved
    group by round, contestant order by round, contestant
    on conflict (round, contestant) do update
    set scored = round_totals.scored + excluded.scored, score = round_totals.score + excluded.score
), gone_on as (
    update round_batches set step = 'board' where id = (select id from here)
)
select rounds from round_batches where id = $1 and step <> 'score';

-- name: close_batch
-- The batch is done.
delete from round_batches where id = $1 and step = 'board';

-- name: scoring_backlog
-- What is to be scored, how long the oldest waits, what is parked, and how many batches are open.
select (select count(*) from round_answers where stage = 'answered' and batch is null) as waiting,
       coalesce((select extract(epoch from now() - min(answered_at)) from round_answers where stage = 'answered'), 0)::float8
           as oldest_s,
       (select count(*) from round_answers where stage = 'parked') as parked,
       (select count(*) from round_batches) as open_batches;

-- name: wanted_scorers
-- Scorers of the rounds that have something to be made or scored.
select distinct r.scorer from rounds r
where exists (select from round_answers a where a.round = r.id and a.stage in ('pending', 'answered'))
order by r.scorer;

-- name: recount_round
-- Merged answers and the sum of their scores, from the answers themselves.
select contestant, count(*) as scored, sum(score)::bigint as score
from round_answers where round = $1 and merged group by contestant order by contestant;
