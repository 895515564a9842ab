-- name: export_votes
-- Every vote and forfeit in order of time, as `agon export` writes it without its dialogue.
select conversation, person, contestant_a, contestant_b, winner, created_at, id, false as forfeit, null::text as turns
from votes
union all
select f.conversation, c.person, f.contestant_a, f.contestant_b, f.winner, f.created_at, f.id, true, null
from forfeits f join conversations c on c.id = f.conversation
order by created_at, id;

-- name: export_dialogues
-- Every vote and forfeit in order of time with the turns of its battle, as a JSON list of prompt and both answers.
select v.conversation, v.person, v.contestant_a, v.contestant_b, v.winner, v.created_at, v.forfeit, d.turns
from (
    select conversation, person, contestant_a, contestant_b, winner, created_at, id, false as forfeit from votes
    union all
    select f.conversation, c.person, f.contestant_a, f.contestant_b, f.winner, f.created_at, f.id, true
    from forfeits f join conversations c on c.id = f.conversation
) v cross join lateral (
    select json_agg(json_build_array(t.prompt, coalesce(a.text, ''), coalesce(b.text, '')) order by t.turn)::text as turns
    from turns t
    join answers a on a.conversation = t.conversation and a.turn = t.turn and a.side = 'a'
    join answers b on b.conversation = t.conversation and b.turn = t.turn and b.side = 'b'
    where t.conversation = v.conversation
) d
order by v.created_at, v.id;
