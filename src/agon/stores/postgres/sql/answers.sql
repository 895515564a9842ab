-- name: load_answer
-- What the runner needs to know of an answer before it generates it.
select c.kind, a.contestant, a.attempt, a.failures, a.state, t.seed, t.max_tokens,
       extract(epoch from clock_timestamp() - a.asked_at)::float8 as age_s
from answers a
join turns t using (conversation, turn)
join conversations c on c.id = a.conversation
where a.conversation = $1 and a.turn = $2 and a.side = $3;

-- name: load_dialogue
-- The prompts up to a turn, and what this side answered to the earlier ones.
select t.turn, t.prompt, a.text
from turns t join answers a using (conversation, turn)
where t.conversation = $1 and t.turn <= $2 and a.side = $3
order by t.turn;

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

-- name: void_battles
-- A battle with a failed side is void, once and for all.
update conversations c set void_reason = s.reason
from unnest($1::uuid[], $2::text[]) as s (id, reason)
where c.id = s.id and c.kind = 'battle' and c.void_reason is null;

-- name: void_reasons
-- Why these battles are void.
select id, void_reason from conversations where id = any($1::uuid[]) and void_reason is not null;

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
          from answers a join conversations k on k.id = a.conversation
          where a.contestant = c.name and a.state = 'done' and a.ttft_ms is not null and k.kind = 'battle'
          order by a.settled_at desc
          limit 1000) recent
) m
where m.ttft_ms is not null;
