-- name: round_totals
-- The sums of a round's merged scores.
select contestant, scored, score from round_totals where round = $1 order by contestant;

-- name: round_scores
-- Every merged score of a round, a row a question, in the bank's order.
select q.question, q.category, s.contestants, s.scores
from (
    select question, array_agg(contestant) as contestants, array_agg(score) as scores
    from round_answers where round = $1 and merged group by question
) s
join round_questions q on q.round = $1 and q.question = s.question
order by q.place, q.question;

-- name: scored_rounds
-- Rounds with merged scores, and how many they have.
select round, sum(scored)::bigint as merged from round_totals where scored > 0 group by round;
