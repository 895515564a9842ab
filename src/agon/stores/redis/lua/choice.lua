-- Which replica of a contestant a turn waits least at; for the scripts that place turns.

-- The least busy replica that is not avoided, and the seconds a turn waits there; one that is avoided if there is no other.
-- `added` holds the seconds that this very call has put on some replicas already, `added_n` how many those are.
local function least_busy(contestant, avoid, avoid_n, added, added_n)
  local ranked = key('ranked', contestant)
  local reach = math.max(1, avoid_n + added_n)
  local window = call('ZRANGE', ranked, 0, reach, 'WITHSCORES')
  if not window[1] then return nil end
  if avoid_n + added_n == 0 then
    if window[4] == window[2] then
      local tied = call('ZCOUNT', ranked, window[2], window[2])
      local drawn = math.random(tied) - 1
      return call('ZRANGE', ranked, drawn, drawn)[1], tonumber(window[2])
    end
    return window[1], tonumber(window[2])
  end
  local found, least, tied
  for pass = 1, 2 do
    for at = 1, #window, 2 do
      local id = window[at]
      if pass == 2 or not avoid[id] then
        local seconds = window[at + 1] + (added[id] or 0)
        if not least or seconds < least then
          found, least, tied = id, seconds, 1
        elseif seconds == least then
          tied = tied + 1
          if math.random(tied) == 1 then found = id end
        end
      end
    end
    if found then return found, least end
  end
end
