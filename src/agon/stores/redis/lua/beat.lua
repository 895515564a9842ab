-- An executor's absolute statement: it lives, what it serves, what it holds.
-- Keys: see common.lua.
-- Args: prefix, executor, beat, now in ms or '', alive_ms, cold_s, default_speed, window_s, number of reports; then for
--       each report: id, contestant, url, state, detail, capacity, active, tokens, stream_s, foreign; then for each
--       turn held: ref, replica, tokens left of its prompt and of its answer, job in case it was lost.
-- Result: none.

local beat, alive_ms = tonumber(ARGV[3]), ARGV[5]
local cold_s, default_speed, window_s = ARGV[6], ARGV[7], tonumber(ARGV[8])
local reports = tonumber(ARGV[9])
local first_report = 10
local first_turn = first_report + reports * 10
present(ARGV[4], alive_ms)
call('EXPIRE', key('inbox', executor), INBOX_S)

-- Speed of one stream; the more seconds of writing a report covers, the more it counts.
local function measure(id, contestant, speed, tokens, stream_s)
  if stream_s <= 0 then return speed end
  local seen = tokens / stream_s
  local share = 1 - math.exp(-stream_s / window_s)
  local new = math.max(0.1, speed and speed + share * (seen - speed) or seen)
  call('HSET', key('replica', id), 'speed', new)
  call('ZADD', key('speeds', contestant), new, id)
  return new
end

-- What a replica that nobody has measured is taken for.
local function assumed(contestant)
  local known = call('ZRANGE', key('speeds', contestant), 0, 0, 'REV', 'WITHSCORES')
  return tonumber(known[2] or default_speed)
end

-- What the executor turns out to hold, by replica.
local tokens_on, turns_on = {}, {}
local function sum(id, tokens, turns)
  tokens_on[id] = (tokens_on[id] or 0) + tokens
  turns_on[id] = (turns_on[id] or 0) + turns
end

local function report(at, mend)
  local id, contestant, url, state, detail = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4]
  local replica = key('replica', id)
  local text = state .. ' ' .. ARGV[at + 5] .. ' ' .. ARGV[at + 9] .. ' ' .. detail
  local f = call('HMGET', replica, 's:' .. executor, 'a:' .. executor, 'speed', 'state', 'capacity', 'rate',
    'n:' .. executor)
  if f[7] then sum(id, 0, 0) end
  if ARGV[at + 6] ~= (f[2] or '0') then
    call('HSET', replica, 'a:' .. executor, ARGV[at + 6])
    call('HINCRBY', replica, 'active', ARGV[at + 6] - (f[2] or 0))
  end
  local speed = measure(id, contestant, tonumber(f[3]), tonumber(ARGV[at + 7]), tonumber(ARGV[at + 8]))
  if mend or text ~= f[1] or not f[4] or (not speed and tonumber(f[6]) ~= assumed(contestant) * tonumber(f[5])) then
    call('HSET', replica, 's:' .. executor, text, 'contestant', contestant, 'default_speed', default_speed)
    if url ~= '' then call('HSET', replica, 'url', url) end
    call('SADD', key('serves', executor), id)
    recompute(id, cold_s)
  elseif speed ~= tonumber(f[3]) then
    local rate = speed * tonumber(f[5])
    call('HSET', replica, 'rate', rate)
    if f[4] == 'ready' then set_counted(id, math.floor(rate * 1000)) end
    rescore(id)
  end
end

local served = {}
for number = 0, reports - 1 do
  local at = first_report + number * 10
  served[ARGV[at]] = true
  -- One replica each time is summed up anew.
  report(at, beat % reports == number)
end
for _, id in ipairs(call('SMEMBERS', key('serves', executor))) do
  if not served[id] then
    call('SREM', key('serves', executor), id)
    withdraw(id, executor, cold_s)
  end
end

local holds, held = key('holds', executor), {}
local flat = call('HGETALL', holds)
for at = 1, #flat, 2 do held[flat[at]] = flat[at + 1] end

local changes = {}
local function write(ref, hold)
  changes[#changes + 1] = ref
  changes[#changes + 1] = format(hold)
  if #changes >= 1000 then
    call('HSET', holds, unpack(changes))
    changes = {}
  end
end

local function restore(ref, stated, job)
  local turn = call('GET', key('turn', ref))
  if turn and owner_and_job(turn) ~= executor then return end
  if not turn then
    if call('EXISTS', key('given', ref)) == 1 then return end
    call('SET', key('turn', ref), executor .. '\n' .. job, 'EX', TURN_S)
  end
  write(ref, stated)
  sum(stated.id, stated.prompt + stated.output, 1)
end

local function restate(ref, hold, stated)
  -- A statement that was made before the turn was moved or sent again is out of date.
  if hold.id == stated.id and not string.find(hold.mark, '-', 1, true) then
    -- So is one from before the first token.
    hold.prompt, hold.output, hold.mark = math.min(stated.prompt, hold.prompt), stated.output, ARGV[3]
    write(ref, hold)
  end
  sum(hold.id, hold.prompt + hold.output, 1)
end

for at = first_turn, #ARGV, 5 do
  local ref = ARGV[at]
  local stated = {prompt = tonumber(ARGV[at + 2]), output = tonumber(ARGV[at + 3]), estimate = 0, mark = ARGV[3],
    id = ARGV[at + 1]}
  if held[ref] then
    restate(ref, parse(held[ref]), stated)
    held[ref] = nil
  else
    restore(ref, stated, ARGV[at + 4])
  end
end

for ref, text in pairs(held) do
  local hold = parse(text)
  -- What waits in the inbox is not known to the executor yet, and what it got since its last beat perhaps not either.
  if not string.find(hold.mark, '-', 1, true) and tonumber(hold.mark) < beat - 1 then
    call('HDEL', holds, ref)
    local turn = call('GET', key('turn', ref))
    if turn and owner_and_job(turn) == executor then call('DEL', key('turn', ref)) end
    sum(hold.id, 0, 0)
  else
    sum(hold.id, hold.prompt + hold.output, 1)
  end
end
if #changes > 0 then call('HSET', holds, unpack(changes)) end

for id, turns in pairs(turns_on) do
  local share = call('HMGET', key('replica', id), 't:' .. executor, 'n:' .. executor)
  local tokens, more = tokens_on[id] - (share[1] or 0), turns - (share[2] or 0)
  if tokens ~= 0 or more ~= 0 then bump(id, executor, tokens, more) end
end
