-- What the scripts of dispatch have in common. ARGV[1] is the prefix of every key, ARGV[2] the executor that calls.
--
-- ranked:{contestant}  zset    replica -> seconds a turn waits there, with its penalty: all that may be given turns
-- speeds:{contestant}  zset    replica -> measured tokens per second of one of its streams
-- learned:{contestant} hash    estimated and written tokens of late turns, both fading
-- replica:{id}         hash    contestant url state detail capacity active turns tokens foreign speed rate penalty
--                              counted (its part of `capacity`), and of each executor: s: report, a: active turns,
--                              n: turns held, t: tokens held
-- servers:{id}         set     executors that its turns can be sent to
-- serves:{executor}    set     replicas that it reports
-- holds:{executor}     hash    turn -> "prompt output estimate cached mark replica": tokens that remain, what they
--                              were at first, 1 if the replica had read the prefix, and as the mark the beat at which
--                              the executor got it, or the entry of its inbox that it has not taken yet
-- inbox:{executor}     stream  turns that were sent to it
-- turn:{ref}           string  "executor\njob"
-- given:{ref}          string  for a while after `reap` has given the turn out
-- alive                zset    executor -> when it counts as dead, in ms
-- replicas             set     every replica there is
-- capacity             int     sum of all rates, in thousandths of a token per second
--
-- Totals are integers and change together with the holds that they sum up, so they neither drift nor leak.

local prefix, executor = ARGV[1] .. ':', ARGV[2]
local call = redis.call
local TURN_S, GIVEN_S, INBOX_S = 86400, 30, 60

local function key(kind, name)
  return prefix .. kind .. ':' .. name
end

-- Milliseconds; `given` overrides the server's clock unless it is empty.
local function now_ms(given)
  if given ~= '' then return tonumber(given) end
  local time = call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

local function parse(hold)
  local prompt, output, estimate, cached, mark, id = string.match(hold, '^(%d+) (%d+) (%d+) (%d) (%S+) (.*)$')
  return {prompt = tonumber(prompt), output = tonumber(output), estimate = tonumber(estimate), cached = cached,
    mark = mark, id = id}
end

local function format(hold)
  return string.format('%d %d %d %s %s %s', hold.prompt, hold.output, hold.estimate, hold.cached or '0', hold.mark, hold.id)
end

local function owner_and_job(turn)
  return string.match(turn, '^([^\n]*)\n(.*)$')
end

-- Whether everybody is dead or close to it. Not all fall silent at once: Redis itself was away, or stood still.
local CLOSE_MS = 500
local function stood_still(now)
  local latest = call('ZRANGE', prefix .. 'alive', 0, 0, 'REV', 'WITHSCORES')
  return latest[1] and tonumber(latest[2]) <= now + CLOSE_MS
end

-- Gives everybody the time again in which to say that they live.
local function spare(now, alive_ms)
  for _, name in ipairs(call('ZRANGE', prefix .. 'alive', 0, -1)) do
    call('ZADD', prefix .. 'alive', now + alive_ms, name)
  end
end

-- An executor that gets something to lose lives, and can be found dead later.
local function present(given_now, alive_ms)
  local now = now_ms(given_now)
  if stood_still(now) then spare(now, alive_ms) end
  call('ZADD', prefix .. 'alive', 'GT', now + alive_ms, executor)
end

local function set_counted(id, counted)
  local before = tonumber(call('HGET', key('replica', id), 'counted') or 0)
  if counted ~= before then
    call('INCRBY', prefix .. 'capacity', string.format('%d', counted - before))
    call('HSET', key('replica', id), 'counted', string.format('%d', counted))
  end
end

-- Nobody speaks of it and nobody has a turn there.
local function forget(id, contestant)
  set_counted(id, 0)
  call('DEL', key('replica', id), key('servers', id))
  call('SREM', prefix .. 'replicas', id)
  if contestant then
    call('ZREM', key('ranked', contestant), id)
    call('ZREM', key('speeds', contestant), id)
  end
end

-- How long a further turn waits there for a place. Ranked by all seconds of work instead, a full replica with short
-- turns would come before one that has long turns and a place to spare. Among those with places a stream is fastest
-- where the fewest write, and after that where the least is left to write.
-- Tokens of a turn that is not ours; tokens that another stream counts for; the part of what is left that counts.
local FOREIGN_TURN, FILL, REST = 100, 5, 0.02

local function rescore(id)
  local f = call('HMGET', key('replica', id), 'contestant', 'tokens', 'foreign', 'rate', 'penalty', 'turns', 'state',
    'capacity')
  if f[5] then
    -- Negative only after a part was lost, until the next beats.
    local tokens, turns = math.max(0, f[2] or 0) + (f[3] or 0), math.max(0, f[6] or 0) + (f[3] or 0) / FOREIGN_TURN
    local before = math.max(0, turns + 1 - (f[8] or 1)) / (turns + 1)
    call('ZADD', key('ranked', f[1]), (tokens * (before + REST) + FILL * turns) / f[4] + f[5], id)
  elseif not f[7] and tonumber(f[6] or 0) <= 0 then
    forget(id, f[1])
  end
end

-- Adds to the share that an executor has of what is held on a replica.
local function bump_share(replica, holder, tokens, turns)
  if turns ~= 0 and call('HINCRBY', replica, 'n:' .. holder, turns) == 0 then
    call('HDEL', replica, 'n:' .. holder, 't:' .. holder)
  else
    call('HINCRBY', replica, 't:' .. holder, tokens)
  end
end

-- Adds to what an executor holds on a replica.
local function bump(id, holder, tokens, turns)
  if id == '' then return end
  local replica = key('replica', id)
  bump_share(replica, holder, tokens, turns)
  call('HINCRBY', replica, 'tokens', tokens)
  if turns ~= 0 then call('HINCRBY', replica, 'turns', turns) end
  rescore(id)
end

local function count(holder, ref, hold, job)
  call('HSET', key('holds', holder), ref, format(hold))
  call('SET', key('turn', ref), holder .. '\n' .. job, 'EX', TURN_S)
  bump(hold.id, holder, hold.prompt + hold.output, 1)
end

-- Takes a turn off; returns its hold, or nothing if this one does not hold it.
local function uncount(holder, ref)
  local text = call('HGET', key('holds', holder), ref)
  if not text then return nil end
  local hold = parse(text)
  call('HDEL', key('holds', holder), ref)
  local turn = call('GET', key('turn', ref))
  if turn and owner_and_job(turn) == holder then call('DEL', key('turn', ref)) end
  bump(hold.id, holder, -hold.prompt - hold.output, -1)
  return hold
end

local function living(holder, now)
  local until_ms = call('ZSCORE', prefix .. 'alive', holder)
  return until_ms and (tonumber(until_ms) > now or stood_still(now))
end
