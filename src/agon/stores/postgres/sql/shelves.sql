-- name: cached_scores
-- One score each of those keys that have one.
select k.key, a.score, a.detail, a.revision
from unnest($1::bytea[]) as k (key) cross join lateral (
    select score, detail, revision from round_answers where score_key = k.key and score is not null limit 1
) a;

-- name: cached_answers
-- One answer each to those requests that were answered.
select k.key, a.texts
from unnest($1::bytea[]) as k (key) cross join lateral (
    select texts from round_answers where request_key = k.key and texts is not null limit 1
) a;

-- name: score_keys
-- The next keys that have a score, in order.
select distinct score_key as key from round_answers
where score_key > $1 and score is not null
order by score_key limit $2;

-- name: request_keys
-- The next keys that have an answer, in order.
select distinct request_key as key from round_answers
where request_key > $1 and texts is not null
order by request_key limit $2;
