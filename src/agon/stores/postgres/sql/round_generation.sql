-- name: lock_claims
-- Whoever takes on answers counts alone those that are held.
select pg_advisory_xact_lock(hashtext('round_answers.claim'));

-- name: claim_answers
-- Takes on the oldest answers that nobody holds, as many of each contestant as fill its places.
with held as (
    select contestant, count(*) as answers from round_answers
    where stage = 'pending' and leased_by is not null and leased_until > now() group by contestant
), taken as (
    select t.number
    from unnest($2::text[], $3::integer[]) as p (contestant, places)
    left join held h using (contestant)
    cross join lateral (
        select a.number from round_answers a
        where a.stage = 'pending' and a.contestant = p.contestant
            and (a.leased_until is null or a.leased_until <= now())
        order by a.number limit greatest(0, p.places - coalesce(h.answers, 0))
        for update skip locked
    ) t
)
update round_answers a set leased_by = $1, leased_until = now() + make_interval(secs => $4)
from taken, round_questions q, rounds r
where a.number = taken.number and q.round = a.round and q.question = a.question and r.id = a.round
returning a.number, a.round, a.contestant, a.failures, q.question, q.turns, q.category, q.language, r.seed, r.max_tokens;

-- name: renew_claims
-- Goes on holding what is held.
update round_answers set leased_until = now() + make_interval(secs => $3)
where stage = 'pending' and leased_by = $1 and number = any($2::bigint[]);

-- name: let_claims_go
-- Holds nothing any more.
update round_answers set leased_by = null, leased_until = null where stage = 'pending' and leased_by = $1;

-- name: put_claim_back
-- Holds one answer no longer, and lets nobody take it on before the pause is over.
update round_answers set leased_by = null, leased_until = now() + make_interval(secs => $2)
where number = $1 and stage = 'pending';

-- name: wanted_contestants
-- Contestants with pending answers that may be taken on, from name to name by the index: how many there are is not asked.
with recursive names as (
    (select contestant from round_answers where stage = 'pending' order by contestant limit 1)
    union all
    select (
        select a.contestant from round_answers a
        where a.stage = 'pending' and a.contestant > n.contestant order by a.contestant limit 1
    ) from names n where n.contestant is not null
)
select contestant from names n
where exists (
    select from round_answers a
    where a.stage = 'pending' and a.contestant = n.contestant and (a.leased_until is null or a.leased_until <= now())
)
order by contestant;

-- name: answer_made
-- Writes an answer, once. What it failed before is forgotten: from here on failures are those of its scoring.
update round_answers set stage = 'answered', texts = $2, request_key = $3, answered_at = now(), failures = 0, error = null,
    leased_by = null, leased_until = null
where number = $1 and stage = 'pending' returning number;

-- name: answer_failed
-- Counts a failure, and ends the answer or lets it rest: for a second first, then each time for four times as long.
update round_answers set failures = failures + 1, error = $2, leased_by = null,
    stage = case when $3 then 'failed' else stage end,
    leased_until = case when $3 then null else now() + make_interval(secs => power(4, least(failures, 3))) end
where number = $1 and stage = 'pending';
