-- name: human_pairs
-- The newest votes on battles of one turn, with both answers.
select t.prompt, a.text as answer_a, b.text as answer_b, v.winner
from votes v
join turns t on t.conversation = v.conversation and t.turn = 1
join answers a on a.conversation = v.conversation and a.turn = 1 and a.side = 'a'
join answers b on b.conversation = v.conversation and b.turn = 1 and b.side = 'b'
where a.text <> '' and b.text <> ''
  and not exists (select from turns later where later.conversation = v.conversation and later.turn > 1)
order by v.id desc
limit $1;

-- name: judged_answers
-- What a round's judge said of each answer that it has looked at, in short.
select question, contestant, stage, score, error,
       coalesce(detail -> 'verdicts', '[]')::text as verdicts,
       coalesce(o.exact, 0) as exact, coalesce(o.repeated, 0) as repeated, coalesce(o.tokens, 0) as tokens
from round_answers
left join lateral (
    select count(*) filter (where (said ->> 'exact')::boolean) as exact,
           count(*) filter (where (said ->> 'repeated')::boolean) as repeated,
           sum((said ->> 'prompt_tokens')::bigint + (said ->> 'completion_tokens')::bigint)::bigint as tokens
    from jsonb_array_elements(detail -> 'orders') as said
) o on true
where round = $1 and stage in ('scored', 'abstained')
order by number;
