-- Chooses a replica for each of some turns and counts them there, held by the caller; all of them or none.
-- Keys: see common.lua; prefix:{key} = the replica that had it last; bucket:arena and client:{name} = level, at.
-- Args: prefix, executor, beat, now in ms or '', alive_ms, chance, gate_s, gate_ratio, prefix_s,
--       client ('' = no admission), its tokens/s (0 = off), its burst, share of the capacity (0 = off), burst_s,
--       queue_s (0 = off); then for each turn: ref, contestant, prompt, output, cached, prefix key or '',
--       replicas to avoid with a newline after each, job.
-- Result: 'ok', and for each the replica and 1 if it has the prefix; or 'not_ready' and the contestant; or the reason to refuse and the milliseconds to wait.

local beat, given_now, alive_ms = ARGV[3], ARGV[4], ARGV[5]
local gate_s, gate_ratio, prefix_s = tonumber(ARGV[7]), tonumber(ARGV[8]), ARGV[9]
local client, client_rate, client_burst = ARGV[10], tonumber(ARGV[11]), tonumber(ARGV[12])
local share, burst_s, queue_s = tonumber(ARGV[13]), tonumber(ARGV[14]), tonumber(ARGV[15])
math.randomseed(tonumber(ARGV[6]))

-- Tokens that are really written, for each that is estimated.
local learned = {}
local function calibration(contestant)
  if not learned[contestant] then
    local sums = call('HMGET', key('learned', contestant), 'estimated', 'written')
    learned[contestant] = sums[1] and sums[2] / sums[1] or 1
  end
  return learned[contestant]
end

-- Seconds a further turn is expected to wait for a place there, and how much one second of work takes off that. Where
-- there is no place it is not nothing, however fast the replica was until now.
local LEAST_WAIT_S = 0.05
local function expected_wait(id, contestant, added)
  local f = call('HMGET', key('replica', id), 'turns', 'capacity', 'tokens', 'foreign', 'rate')
  local turns, places = tonumber(f[1] or 0), tonumber(f[2] or 1)
  if turns < places then return 0, 1 end
  local part = (turns + 1 - places) / (turns + 1)
  local work_s = ((f[3] or 0) + (f[4] or 0)) * calibration(contestant) / f[5] + (added[id] or 0)
  return math.max(LEAST_WAIT_S, work_s * part), part
end

local added, added_n = {}, 0

-- The replica that has the prefix is worth waiting for, within bounds; of a dialogue's first turn there is none to have.
local function worth(noted, job, least)
  if not noted or job.cached == 0 or job.avoid[noted] then return false end
  local seconds = call('ZSCORE', key('ranked', job.contestant), noted)
  if not seconds then return false end
  seconds = seconds + (added[noted] or 0)
  if seconds - least > gate_s and seconds > gate_ratio * least then return false end
  return client == '' or queue_s == 0 or expected_wait(noted, job.contestant, added) <= queue_s
end

local function choose(job)
  local noted = job.prefix ~= '' and call('GET', key('prefix', job.prefix))
  job.was = call('GET', key('turn', job.ref))
  if job.was then
    job.holder = owner_and_job(job.was)
    local hold = call('HGET', key('holds', job.holder), job.ref)
    local kept = hold and parse(hold).id
    if kept and kept ~= '' and not job.avoid[kept] and call('ZSCORE', key('ranked', job.contestant), kept) then
      job.id = kept
    end
  end
  if not job.id then
    local found, least = least_busy(job.contestant, job.avoid, job.avoid_n, added, added_n)
    if not found then return false end
    job.id = worth(noted, job, least) and noted or found
  end
  job.kept = job.id == noted
  if job.kept then job.prompt = math.max(0, job.prompt - job.cached) end
  return true
end

local function add(job)
  if not added[job.id] then added_n = added_n + 1 end
  local rate = call('HGET', key('replica', job.id), 'rate')
  added[job.id] = (added[job.id] or 0) + (job.prompt + job.output) / rate
end

local jobs, longest_s = {}, 0
for at = 16, #ARGV, 8 do
  local job = {ref = ARGV[at], contestant = ARGV[at + 1], prompt = tonumber(ARGV[at + 2]),
    output = tonumber(ARGV[at + 3]), cached = tonumber(ARGV[at + 4]), prefix = ARGV[at + 5], avoid = {}, avoid_n = 0,
    text = ARGV[at + 7]}
  for id in string.gmatch(ARGV[at + 6], '([^\n]+)\n') do
    job.avoid[id], job.avoid_n = true, job.avoid_n + 1
  end
  if not choose(job) then return {'not_ready', job.contestant} end
  -- One that is counted already has been admitted already.
  if client ~= '' and not job.was then
    local wait_s, part = expected_wait(job.id, job.contestant, added)
    longest_s = math.max(longest_s, wait_s)
    if queue_s > 0 and wait_s > queue_s then return {'busy', math.ceil((wait_s - queue_s) / part * 1000) + 1} end
  end
  if at + 8 <= #ARGV then add(job) end
  jobs[#jobs + 1] = job
end

local function level(bucket, rate, size, now)
  local f = call('HMGET', bucket, 'level', 'at')
  if not f[1] then return size end
  return math.min(size, f[1] + math.max(0, now - f[2]) / 1000 * rate)
end

local function spend(bucket, left, rate, size, now)
  call('HSET', bucket, 'level', left, 'at', string.format('%d', now))
  call('EXPIRE', bucket, math.ceil((size - left) / rate) + 60)
end

-- A turn that is larger than the whole bucket passes when that is full, and leaves a debt.
local function refusal(reason, has, cost, rate, size)
  local lacks = math.min(cost, size) - has
  if lacks > 0 then return {reason, math.ceil(lacks / rate * 1000) + 1} end
end

if client ~= '' then
  local own, true_cost, now = 0, 0, now_ms(given_now)
  for _, job in ipairs(jobs) do
    if not job.was then
      own = own + job.prompt + job.output
      true_cost = true_cost + (job.prompt + job.output) * calibration(job.contestant)
    end
  end
  local limited, shared = client_rate > 0 and own > 0, share > 0 and own > 0
  local own_level, arena_level, refused
  if limited then
    own_level = level(key('client', client), client_rate, client_burst, now)
    refused = refusal('client_limit', own_level, own, client_rate, client_burst)
    if refused then return refused end
  end
  local rate = tonumber(call('GET', prefix .. 'capacity') or 0) / 1000 * share
  local size = rate * burst_s
  shared = shared and rate > 0
  if shared then
    arena_level = level(prefix .. 'bucket:arena', rate, size, now)
    -- Where every turn finds a place the fleet can do it, whatever the estimates say of its prompt; and nobody is to
    -- wait long for one that was let in that way.
    refused = longest_s > 0 and refusal('arena_limit', arena_level, true_cost, rate, size)
    -- Then a place will be free, too.
    if refused then return {refused[1], math.max(refused[2], math.ceil(longest_s * 1000))} end
    spend(prefix .. 'bucket:arena', math.max(arena_level - true_cost, -size), rate, size, now)
  end
  if limited then spend(key('client', client), own_level - own, client_rate, client_burst, now) end
end

present(given_now, alive_ms)
local answer = {'ok'}
for _, job in ipairs(jobs) do
  if job.was then uncount(job.holder, job.ref) end
  local whole = job.prompt + job.output
  local hold = {prompt = job.prompt, output = job.output, estimate = whole, cached = job.kept and '1' or '0',
    mark = beat, id = job.id}
  count(executor, job.ref, hold, job.text)
  if job.prefix ~= '' then call('SET', key('prefix', job.prefix), job.id, 'EX', prefix_s) end
  answer[#answer + 1] = job.id
  answer[#answer + 1] = hold.cached
end
return answer
