-- Which turns no living executor holds.
-- Keys: see common.lua.
-- Args: prefix, executor, now in ms or ''; then the turns.
-- Result: those turns.

local now, free = now_ms(ARGV[3]), {}
for at = 4, #ARGV do
  local turn = call('GET', key('turn', ARGV[at]))
  if not (turn and living(owner_and_job(turn), now)) then free[#free + 1] = ARGV[at] end
end
return free
