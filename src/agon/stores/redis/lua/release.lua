-- Takes turns off that are over at the caller. Those that it does not hold are left alone.
-- Keys: see common.lua.
-- Args: prefix, executor; then for each turn: ref, contestant, tokens that it really wrote, or '' if it was cut short.
-- Result: how many it held.

local FADING, BEGINNING = 0.98, 200
local released = 0
for at = 3, #ARGV, 3 do
  local hold = uncount(executor, ARGV[at])
  if hold then
    released = released + 1
    if ARGV[at + 2] ~= '' and hold.estimate > 0 then
      local learned = key('learned', ARGV[at + 1])
      local sums = call('HMGET', learned, 'estimated', 'written')
      call('HSET', learned, 'estimated', (sums[1] or BEGINNING) * FADING + hold.estimate,
        'written', (sums[2] or BEGINNING) * FADING + ARGV[at + 2])
      call('EXPIRE', learned, TURN_S)
    end
  end
end
return released
