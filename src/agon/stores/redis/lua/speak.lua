-- The first token of some turns is there: takes their prompts off.
-- Keys: see common.lua.
-- Args: prefix, executor; then the turns.
-- Result: none.

for at = 3, #ARGV do
  local text = call('HGET', key('holds', executor), ARGV[at])
  local hold = text and parse(text)
  if hold and hold.prompt > 0 then
    local prompt = hold.prompt
    hold.prompt = 0
    call('HSET', key('holds', executor), ARGV[at], format(hold))
    bump(hold.id, executor, -prompt, 0)
  end
end
