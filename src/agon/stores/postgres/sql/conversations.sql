-- name: start_conversation
-- The conversation's row.
insert into conversations (id, kind, person, contestant_a, contestant_b, propensity)
values ($1, $2, $3, $4, $5, $6);

-- name: claim_start
-- Ties a person's key to a conversation, unless the key is taken.
insert into starts (person, idempotency_key, conversation) values ($1, $2, $3)
on conflict do nothing
returning conversation;

-- name: find_start
-- The conversation that a person's key started.
select conversation from starts where person = $1 and idempotency_key = $2;

-- name: unstart_conversation
-- Takes back a conversation whose key had started another one.
delete from conversations where id = $1;

-- name: add_turn
-- A turn and one pending answer for each side.
with added as (
    insert into turns (conversation, turn, prompt, seed, max_tokens, idempotency_key)
    values ($1, $2, $3, $4, $5, $6)
)
insert into answers (conversation, turn, side, contestant)
select $1, $2, side, contestant from unnest($7::text[], $8::text[]) as sides (side, contestant);

-- name: lock_conversation
-- Serialises everything that may change a conversation.
select id from conversations where id = $1 for no key update;

-- name: find_conversation
-- A conversation with its vote, if it has one.
select c.id, c.kind, c.person, c.contestant_a, c.contestant_b, c.void_reason, c.forfeited_by, c.created_at,
       v.receipt, v.winner, v.idempotency_key as vote_key, v.created_at as voted_at
from conversations c left join votes v on v.conversation = c.id
where c.id = $1;

-- name: find_turns
-- A conversation's turns with their answers, one row a side, in order.
select t.turn, t.prompt, t.seed, t.max_tokens, t.idempotency_key, t.created_at,
       a.side, a.state, a.attempt, a.text, a.finish_reason, a.prompt_tokens, a.completion_tokens
from turns t join answers a using (conversation, turn)
where t.conversation = $1
order by t.turn, a.side;

-- name: reopen_answer
-- Makes a stopped or failed answer pending again, as a new attempt.
update answers
set state = 'pending', attempt = attempt + 1, failures = 0, text = null, finish_reason = null, error = null,
    asked_at = now(), settled_at = null
where conversation = $1 and turn = $2 and side = $3;

-- name: history
-- A person's conversations, newest first, from before the given one.
select c.id, c.kind, c.created_at, c.void_reason is not null as void, c.forfeited_by is not null as forfeited,
       c.contestant_a, c.contestant_b, v.winner, left(t.prompt, 160) as title
from conversations c
join turns t on t.conversation = c.id and t.turn = 1
left join votes v on v.conversation = c.id
where c.person = $1
  and ($3::uuid is null
       or (c.created_at, c.id) < (select b.created_at, b.id from conversations b where b.id = $3 and b.person = $1))
order by c.created_at desc, c.id desc
limit $2;
