-- Takes turns out of the caller's inbox: those that it still holds, each once.
-- Keys: see common.lua.
-- Args: prefix, executor, beat; then the entries' ids and turns in turn.
-- Result: ref, replica, 1 if that has the prefix, and job of each that is to be run.

local beat = ARGV[3]
local taken = {}
for at = 4, #ARGV, 2 do
  local entry, ref = ARGV[at], ARGV[at + 1]
  call('XDEL', key('inbox', executor), entry)
  local text = call('HGET', key('holds', executor), ref)
  local turn = call('GET', key('turn', ref))
  -- Sent on, reserved anew or given out meanwhile: then another entry, or another executor, has it.
  if text and turn then
    local hold = parse(text)
    if hold.mark == entry then
      hold.mark = beat
      call('HSET', key('holds', executor), ref, format(hold))
      local _, job = owner_and_job(turn)
      for _, word in ipairs({ref, hold.id, hold.cached, job}) do taken[#taken + 1] = word end
    end
  end
end
return taken
