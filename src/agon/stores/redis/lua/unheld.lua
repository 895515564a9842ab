-- Which turns nobody has: no executor holds them, and `reap` has not given them out just now.
-- Keys: see common.lua.
-- Args: prefix, executor; then the turns.
-- Result: those turns.

-- Whoever got it from `reap` holds it by then, or has failed to.
local RESCUE_S = 3

local function is_held(ref)
  local turn = call('GET', key('turn', ref))
  -- A holder that has died is there until it is reaped.
  if turn then return call('ZSCORE', prefix .. 'alive', (owner_and_job(turn))) end
  return call('PTTL', key('given', ref)) > (GIVEN_S - RESCUE_S) * 1000
end

local free = {}
for at = 3, #ARGV do
  if not is_held(ARGV[at]) then free[#free + 1] = ARGV[at] end
end
return free
