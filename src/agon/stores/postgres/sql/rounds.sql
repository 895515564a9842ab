-- name: insert_round
-- A new round; nothing where one of that id is there, or is just being written by somebody else.
insert into rounds (id, name, scorer, strict, seed, max_tokens, anchor) values ($1, $2, $3, $4, $5, $6, $7)
on conflict (id) do nothing returning id;

-- name: insert_round_questions
-- The questions of a bank, or one that came with an answer. Turns are array literals, since their numbers differ.
insert into round_questions (round, question, place, category, language, turns, digest)
select round, question, place, category, language, turns::text[], digest
from unnest($1::uuid[], $2::text[], $3::integer[], $4::text[], $5::text[], $6::text[], $7::bytea[])
     as q (round, question, place, category, language, turns, digest)
order by round, question
on conflict (round, question) do nothing;

-- name: insert_round_contestants
-- Contestants of rounds whose rows are locked; returns those that are new.
insert into round_contestants (round, contestant, place, made_here)
select n.round, n.contestant,
       n.at + coalesce((select max(place) + 1 from round_contestants c where c.round = n.round), 0), n.made_here
from unnest($1::uuid[], $2::text[], $3::boolean[]) with ordinality as n (round, contestant, made_here, at)
order by n.at
on conflict (round, contestant) do nothing
returning round, contestant;

-- name: insert_pending_answers
-- What a contestant is to be asked.
insert into round_answers (id, round, question, contestant, stage)
select a.id, $1, a.question, $2, 'pending' from unnest($3::uuid[], $4::text[]) as a (id, question)
on conflict (round, contestant, question) do nothing;

-- name: lock_rounds
-- Locks rounds against further contestants and reruns, always in the same order; returns which there are.
select id from rounds where id = any($1::uuid[]) order by id for no key update;

-- name: find_round
-- One round, with its contestants in their order.
select r.*, c.contestants, c.made_here, (select count(*) from round_questions q where q.round = r.id) as questions
from rounds r
left join lateral (
    select array_agg(contestant order by place, contestant) as contestants,
           array_agg(made_here order by place, contestant) as made_here
    from round_contestants where round = r.id
) c on true
where r.id = $1;

-- name: latest_rounds
-- A page of rounds, newest first, behind the one of an id.
select r.*, c.contestants, c.made_here, (select count(*) from round_questions q where q.round = r.id) as questions
from rounds r
left join lateral (
    select array_agg(contestant order by place, contestant) as contestants,
           array_agg(made_here order by place, contestant) as made_here
    from round_contestants where round = r.id
) c on true
where $2::uuid is null
   or r.created_at < (select created_at from rounds where id = $2)
   or (r.created_at = (select created_at from rounds where id = $2) and r.id > $2)
order by r.created_at desc, r.id
limit $1;

-- name: round_bank
-- A part of a round's questions, in the order of its bank; below a place they are the bank's own.
select question, turns, category, language from round_questions where round = $1 and place < $2
order by place, question offset $3 limit $4;

-- name: find_round_contestant
-- Whether a contestant's answers are made here.
select made_here from round_contestants where round = $1 and contestant = $2;

-- name: resolve_submissions
-- For answers by round, question and prompt: what there is of the round, of the contestant, and the question's key.
select r.id is not null as known, coalesce(r.strict, true) as strict, c.made_here,
       coalesce(k.question, p.question) as question
from unnest($1::uuid[], $2::text[], $3::text[], $4::bytea[]) with ordinality as s (round, contestant, key, digest, at)
-- The limits keep these look-ups for each answer: as plain joins, young tables' statistics get them scanned whole.
left join lateral (select id, strict from rounds where id = s.round limit 1) r on true
left join lateral (
    select made_here from round_contestants where round = s.round and contestant = s.contestant limit 1
) c on true
left join lateral (select question from round_questions where round = s.round and question = s.key limit 1) k on true
left join lateral (
    select question from round_questions where s.key = '' and round = s.round and digest = s.digest
    order by place, question limit 1
) p on true
order by s.at;

-- name: insert_submitted_answers
-- Answers that were made elsewhere; returns those that are new. Texts are array literals, since their numbers differ.
insert into round_answers (id, round, question, contestant, stage, texts, answered_at)
select id, round, question, contestant, 'answered', texts::text[], now()
from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[]) as a (id, round, question, contestant, texts)
order by id
on conflict (round, contestant, question) do nothing
returning id;

-- name: answer_texts
-- What answers say that are there already.
select id, texts from round_answers where id = any($1::uuid[]);

-- name: round_progress
-- How many answers of each contestant are at which stage.
select c.contestant, a.stage, coalesce(a.answers, 0) as answers
from round_contestants c
left join (
    select contestant, stage, count(*) as answers from round_answers where round = $1 group by contestant, stage
) a on a.contestant = c.contestant
where c.round = $1
order by c.place, c.contestant, a.stage;

-- name: answers_to_question
-- All contestants' answers to one question; one row without an answer where there are none, none without the question.
select q.question as asked, a.*
from round_questions q
left join lateral (
    select a.id, a.round, a.question, a.contestant, a.stage, a.texts, a.score, a.error, a.detail, c.place
    from round_answers a join round_contestants c on c.round = a.round and c.contestant = a.contestant
    where a.round = q.round and a.question = q.question
) a on true
where q.round = $1 and q.question = $2
order by a.place, a.contestant;

-- name: troubled_answers
-- Answers that failed or are parked, the oldest first.
select id, round, question, contestant, stage, texts, score, error, detail
from round_answers where round = $1 and stage in ('parked', 'failed')
order by number limit $2;

-- name: rerun_answers
-- Failed answers are made, and parked ones scored, as if for the first time.
with again as (
    update round_answers
    set stage = case stage when 'failed' then 'pending' else 'answered' end,
        failures = 0, error = null, detail = null, batch = null, leased_by = null, leased_until = null
    where round = $1 and stage in ('parked', 'failed')
    returning 1
)
select count(*)::integer as answers from again;
