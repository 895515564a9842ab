-- name: vote_dialogues
-- Prompts and answers of the battles behind some votes and forfeits, turn by turn.
select v.id, t.prompt, a.text as a, b.text as b
from (select id, conversation from votes where id = any($1::bigint[])
      union all
      select id, conversation from forfeits where id = any($1::bigint[])) v
join turns t on t.conversation = v.conversation
join answers a on a.conversation = t.conversation and a.turn = t.turn and a.side = 'a'
join answers b on b.conversation = t.conversation and b.turn = t.turn and b.side = 'b'
order by v.id, t.turn;

-- name: keep_traits
-- What the texts of many votes tell, over what older rules told. Categories are joined by commas.
insert into vote_traits
select s.vote, s.version, string_to_array(s.categories, ','), s.tokens_a, s.headers_a, s.lists_a, s.bold_a,
       s.tokens_b, s.headers_b, s.lists_b, s.bold_b
from unnest($1::bigint[], $2::int[], $3::text[], $4::int[], $5::int[], $6::int[], $7::int[],
            $8::int[], $9::int[], $10::int[], $11::int[])
     as s (vote, version, categories, tokens_a, headers_a, lists_a, bold_a, tokens_b, headers_b, lists_b, bold_b)
on conflict (vote) do update
set version = excluded.version, categories = excluded.categories,
    tokens_a = excluded.tokens_a, headers_a = excluded.headers_a, lists_a = excluded.lists_a, bold_a = excluded.bold_a,
    tokens_b = excluded.tokens_b, headers_b = excluded.headers_b, lists_b = excluded.lists_b, bold_b = excluded.bold_b
where vote_traits.version < excluded.version;
