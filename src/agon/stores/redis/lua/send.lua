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
local function runner_of(id, counted)
  local found, fewest
  local function look(runners)
    for _, runner in ipairs(runners) do
      if living(runner, now) then
        local held = call('HLEN', key('holds', runner))
        -- The turn that is sent on is no load.
        if runner == executor and counted then held = held - 1 end
        if not fewest or held < fewest then found, fewest = runner, held end
      end
    end
  end
  look(call('SRANDMEMBER', key('servers', id), 4))
  if not found then look(call('SMEMBERS', key('servers', id))) end
  return found
end

-- The replica itself if somebody serves it, else the least busy one that somebody serves.
local function destination(contestant, id, counted)
  local runner = runner_of(id, counted)
  if runner then return id, runner end
  for _, other in ipairs(call('ZRANGE', key('ranked', contestant), 0, 15)) do
    runner = runner_of(other, counted)
    if runner then return other, runner end
  end
end

-- The hold of a turn that is the caller's to send, and whether it is counted.
local function hold_of(at)
  local ref = ARGV[at]
  local turn = call('GET', key('turn', ref))
  if turn then
    if owner_and_job(turn) ~= executor then return nil end
    local text = call('HGET', key('holds', executor), ref)
    if text then return parse(text), true end
  elseif call('EXISTS', key('given', ref)) == 1 then
    return nil
  end
  local prompt, output = tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4])
  return {prompt = prompt, output = output, estimate = prompt + output, id = ARGV[at + 2]}, false
end

-- On the same replica only its shares change.
local function hand_over(ref, hold, runner, job)
  local replica, tokens = key('replica', hold.id), hold.prompt + hold.output
  call('HDEL', key('holds', executor), ref)
  bump_share(replica, executor, -tokens, -1)
  call('HSET', key('holds', runner), ref, format(hold))
  call('SET', key('turn', ref), runner .. '\n' .. job, 'EX', TURN_S)
  bump_share(replica, runner, tokens, 1)
end

local stranded = {}
for at = 5, #ARGV, 6 do
  local ref, job = ARGV[at], ARGV[at + 5]
  local hold, counted = hold_of(at)
  if hold then
    local id, runner = destination(ARGV[at + 1], hold.id, counted)
    if id then
      hold.mark = call('XADD', key('inbox', runner), '*', 'r', ref)
      call('EXPIRE', key('inbox', runner), INBOX_S)
    else
      stranded[#stranded + 1] = ref
    end
    if counted and id == hold.id then
      hand_over(ref, hold, runner, job)
    else
      if counted then uncount(executor, ref) end
      hold.id = id
      if id then count(runner, ref, hold, job) end
    end
  end
end
return stranded
