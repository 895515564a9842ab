-- Gives out what dead executors held, and takes it off the counts. Now and then sums the capacity up anew.
-- Keys: see common.lua; audited = there for some seconds after the capacity was summed up.
-- Args: prefix, executor, now in ms or '', alive_ms, cold_s, most turns to give out.
-- Result: ref and job of each turn.

local now, cold_s, most = now_ms(ARGV[3]), ARGV[5], tonumber(ARGV[6])
local given = {}

local function bury(dead)
  for _, id in ipairs(call('SMEMBERS', key('serves', dead))) do withdraw(id, dead, cold_s) end
  call('DEL', key('serves', dead))
  for _, ref in ipairs(call('HKEYS', key('holds', dead))) do
    if #given >= 2 * most then return end
    local turn = call('GET', key('turn', ref))
    local hold = uncount(dead, ref)
    if turn and hold.id ~= '' then
      local _, job = owner_and_job(turn)
      call('SET', key('given', ref), dead, 'EX', GIVEN_S)
      given[#given + 1] = ref
      given[#given + 1] = job
    end
  end
  call('ZREM', prefix .. 'alive', dead)
  call('DEL', key('inbox', dead))
end

if stood_still(now) then spare(now, ARGV[4]) end
local dead = call('ZRANGE', prefix .. 'alive', '-inf', now, 'BYSCORE', 'LIMIT', 0, 16)
for _, name in ipairs(dead) do
  if #given < 2 * most then bury(name) end
end

if call('SET', prefix .. 'audited', 1, 'NX', 'PX', 10000) then
  local sum = 0
  for _, id in ipairs(call('SMEMBERS', prefix .. 'replicas')) do
    sum = sum + (call('HGET', key('replica', id), 'counted') or 0)
  end
  call('SET', prefix .. 'capacity', string.format('%d', sum))
end
return given
