-- Makes the caller hold a turn that no living executor holds, without counting it anywhere.
-- Keys: see common.lua.
-- Args: prefix, executor, beat, now in ms or '', alive_ms, ref.
-- Result: 1 if the caller has it now.

local now, ref = now_ms(ARGV[4]), ARGV[6]
local turn = call('GET', key('turn', ref))
local holder = turn and owner_and_job(turn)
if holder then
  if living(holder, now) then return 0 end
  uncount(holder, ref)
end
present(ARGV[4], ARGV[5])
count(executor, ref, {prompt = 0, output = 0, estimate = 0, mark = ARGV[3], id = ''}, '')
return 1
