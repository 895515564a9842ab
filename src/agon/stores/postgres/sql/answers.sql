-- name: load_answer
-- What the runner needs to know of an answer, beside the prompts up to it and what this side said to the earlier ones.
select c.kind, a.contestant, a.attempt, a.failures, a.state, t.seed, t.max_tokens,
       extract(epoch from clock_timestamp() - a.asked_at)::float8 as age_s,
       p.turn, p.prompt, s.text
from answers a
join turns t using (conversation, turn)
join conversations c on c.id = a.conversation
join turns p on p.conversation = a.conversation and p.turn <= a.turn
join answers s on s.conversation = p.conversation and s.turn = p.turn and s.side = a.side
where a.conversation = $1 and a.turn = $2 and a.side = $3
order by p.turn;

-- name: lock_fates
-- Locks the battles that a batch of ends may decide, always in the same order, and tells what has become of them.
select id, kind, void_reason, forfeited_by
from conversations where id = any($1::uuid[])
order by id for no key update;

-- name: lock_answers
-- Locks the answers of a batch, always in the same order; of a forfeit the other side too, which may end at this moment.
select from answers a
join unnest($1::uuid[], $2::int[], $3::text[], $4::text[]) as s (conversation, turn, side, state)
  on a.conversation = s.conversation and a.turn = s.turn and (a.side = s.side or s.state = 'forfeited')
order by a.conversation, a.turn, a.side
for no key update of a;

-- name: settle_answers
-- The ends of many answers; only the current attempt of a pending answer is written. Returns places from 1.
update answers a
set state = s.state, text = s.text, finish_reason = s.finish_reason, error = s.error,
    prompt_tokens = s.prompt_tokens, completion_tokens = s.completion_tokens,
    ttft_ms = s.ttft_ms, duration_ms = s.duration_ms, settled_at = clock_timestamp()
from unnest($1::uuid[], $2::int[], $3::text[], $4::int[], $5::text[], $6::text[], $7::text[], $8::text[],
            $9::int[], $10::int[], $11::float8[], $12::float8[])
     with ordinality
     as s (conversation, turn, side, attempt, state, text, finish_reason, error,
           prompt_tokens, completion_tokens, ttft_ms, duration_ms, place)
where a.conversation = s.conversation and a.turn = s.turn and a.side = s.side
  and a.attempt = s.attempt and a.state = 'pending'
returning s.place;

-- name: write_fates
-- What has become of battles.
update conversations c set void_reason = s.void_reason, forfeited_by = s.forfeited_by
from unnest($1::uuid[], $2::text[], $3::text[]) as s (id, void_reason, forfeited_by)
where c.id = s.id;

-- name: count_forfeits
-- Of some battles, those that a forfeit has decided and in which nobody writes any more are counted from now on.
insert into forfeits (conversation, winner, contestant_a, contestant_b)
select c.id, case c.forfeited_by when 'a' then 'b' else 'a' end, c.contestant_a, c.contestant_b
from conversations c
where c.id = any($1::uuid[]) and c.forfeited_by is not null
  and not exists (select from answers a where a.conversation = c.id and a.state = 'pending')
on conflict (conversation) do nothing;

-- name: retry_answer
-- A new attempt in place of the current one.
update answers set attempt = attempt + 1, failures = failures + $5
where conversation = $1 and turn = $2 and side = $3 and attempt = $4 and state = 'pending'
returning attempt;

-- name: stale_answers
-- Pending answers that were asked a while ago, oldest first.
select a.conversation, a.turn, a.side, a.contestant, a.attempt, c.kind,
       extract(epoch from clock_timestamp() - a.asked_at)::float8 as age_s
from answers a join conversations c on c.id = a.conversation
where a.state = 'pending' and a.asked_at < clock_timestamp() - make_interval(secs => $1)
order by a.asked_at
limit 1000;

-- name: ttft_medians
-- Median time to first token by contestant, over the last thousand answers of its battles.
select c.name as contestant, m.ttft_ms
from contestants c cross join lateral (
    select percentile_cont(0.5) within group (order by recent.ttft_ms) as ttft_ms
    from (select a.ttft_ms
          from answers a
          -- The limit keeps this a look-up for each answer: as a plain join, all conversations are read each time.
          cross join lateral (select k.kind from conversations k where k.id = a.conversation limit 1) k
          where a.contestant = c.name and a.state = 'done' and a.ttft_ms is not null and k.kind = 'battle'
          order by a.settled_at desc
          limit 1000) recent
) m
where m.ttft_ms is not null;
