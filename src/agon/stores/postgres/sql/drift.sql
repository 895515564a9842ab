-- name: drift_traffic
-- A share of the answers that an engine has scored, the same answers whenever it is asked, newest first.
select a.number, array_to_string(q.turns, $5) as prompt, array_to_string(a.texts, $5) as answer, a.score
from round_answers a join round_questions q on q.round = a.round and q.question = a.question
where a.stage = 'scored' and a.revision = $1
    and ($2::timestamptz is null or a.scored_at > $2)
    and (hashint8extended(a.number, 0) & 1048575) < $3::float8 * 1048576
order by a.number desc limit $4;

-- name: keep_drift_check
-- A look at an engine's drift, with its evidence.
insert into drift_checks (revision, engine, verdict, figures, evidence, checked_at)
values ($1, $2, $3, $4::jsonb, $5::jsonb, $6) returning id;

-- name: roll_engine_back
-- Takes an engine out of force; one that is out already stays so since then.
insert into engines_rolled_back (revision, engine, check_id) values ($1, $2, $3)
on conflict (revision, engine) do nothing;

-- name: latest_drift_check
-- The last look at any engine of a model.
select engine, verdict, figures, evidence, checked_at from drift_checks
where revision = $1 order by id desc limit 1;

-- name: engine_rolled_back
-- Whether an engine is out of force.
select since from engines_rolled_back where revision = $1 and engine = $2;

-- name: restore_engines
-- Puts a model's engines in force again.
delete from engines_rolled_back where revision = $1 returning engine;
