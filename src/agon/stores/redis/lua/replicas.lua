-- What the reports of all executors make of a replica; for the scripts that change reports.

local SHOWN = {unknown = 0, failed = 1, loading = 2, draining = 3, ejected = 4, cold = 5, ready = 6}
local EJECTED_S = 1e9

-- Sums everything anew from what is kept for each executor, which also mends a total that is wrong.
local function recompute(id, cold_s)
  local flat = call('HGETALL', key('replica', id))
  local own = {}
  local best, detail, capacity, foreign, servers = nil, '', 1, 0, {}
  local sums = {a = 0, n = 0, t = 0}
  for at = 1, #flat, 2 do
    local kind, who = string.match(flat[at], '^(%l):(.*)$')
    if kind == 's' then
      local state, places, others, words = string.match(flat[at + 1], '^(%l+) (%d+) (%d+) (.*)$')
      if not best or SHOWN[state] > SHOWN[best] then best, detail, servers = state, words, {} end
      if state == best then servers[#servers + 1] = who end
      if state ~= 'unknown' then capacity = math.max(capacity, tonumber(places)) end
      foreign = math.max(foreign, tonumber(others))
    elseif kind then
      sums[kind] = sums[kind] + flat[at + 1]
    else
      own[flat[at]] = flat[at + 1]
    end
  end
  local replica, contestant = key('replica', id), own.contestant
  call('HSET', replica, 'active', sums.a, 'turns', sums.n, 'tokens', sums.t)
  call('DEL', key('servers', id))
  if not best then
    call('HDEL', replica, 'state', 'penalty')
    if contestant then call('ZREM', key('ranked', contestant), id) end
    set_counted(id, 0)
    rescore(id)
    return
  end
  call('SADD', prefix .. 'replicas', id)
  local speed = own.speed
  if not speed then
    local known = call('ZRANGE', key('speeds', contestant), 0, 0, 'REV', 'WITHSCORES')
    speed = known[2] or own.default_speed
  end
  local rate = speed * capacity
  call('HSET', replica, 'state', best, 'detail', detail, 'capacity', capacity, 'foreign', foreign, 'rate', rate)
  set_counted(id, best == 'ready' and math.floor(rate * 1000) or 0)
  if SHOWN[best] < SHOWN.ejected then
    call('HDEL', replica, 'penalty')
    call('ZREM', key('ranked', contestant), id)
    return
  end
  call('SADD', key('servers', id), unpack(servers))
  call('HSET', replica, 'penalty', best == 'ready' and 0 or best == 'cold' and cold_s or EJECTED_S)
  rescore(id)
end

-- This executor speaks of the replica no longer.
local function withdraw(id, holder, cold_s)
  call('HDEL', key('replica', id), 's:' .. holder, 'a:' .. holder)
  recompute(id, cold_s)
end
