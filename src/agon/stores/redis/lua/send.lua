-- Hands reserved turns to runners of their replicas.
-- Keys: see common.lua.
-- Args: prefix, executor, now in ms or '', chance; then for each turn: ref, contestant, replica, prompt, output, job.
-- Result: the turns that nobody can be sent; they are no longer counted.
--
-- A turn that another executor holds by now, or that `reap` has given out, is left to that one. One that is not known
-- at all was lost with Redis, and is counted again.

local now = now_ms(ARGV[3])
math.randomseed(tonumber(ARGV[4]))

-- A living runner of the replica: of a few drawn at random, the one that holds least.
local function runner_of(id)
  local found, fewest
  local function look(runners)
    for _, runner in ipairs(runners) do
      if living(runner, now) then
        local held = call('HLEN', key('holds', runner))
        if not fewest or held < fewest then found, fewest = runner, held end
      end
    end
  end
  look(call('SRANDMEMBER', key('servers', id), 4))
  if not found then look(call('SMEMBERS', key('servers', id))) end
  return found
end

-- The replica itself if somebody serves it, else the least busy one that somebody serves.
local function destination(contestant, id)
  local runner = runner_of(id)
  if runner then return id, runner end
  for _, other in ipairs(call('ZRANGE', key('ranked', contestant), 0, 15)) do
    runner = runner_of(other)
    if runner then return other, runner end
  end
end

local function hold_of(at)
  local ref = ARGV[at]
  local turn = call('GET', key('turn', ref))
  if turn then
    if owner_and_job(turn) ~= executor then return nil end
    local hold = uncount(executor, ref)
    if hold then return hold end
  elseif call('EXISTS', key('given', ref)) == 1 then
    return nil
  end
  local prompt, output = tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4])
  return {prompt = prompt, output = output, estimate = prompt + output, id = ARGV[at + 2]}
end

local stranded = {}
for at = 5, #ARGV, 6 do
  local ref = ARGV[at]
  local hold = hold_of(at)
  if hold then
    local id, runner = destination(ARGV[at + 1], hold.id)
    if id then
      hold.id = id
      hold.mark = call('XADD', key('inbox', runner), '*', 'r', ref)
      call('EXPIRE', key('inbox', runner), INBOX_S)
      count(runner, ref, hold, ARGV[at + 5])
    else
      stranded[#stranded + 1] = ref
    end
  end
end
return stranded
