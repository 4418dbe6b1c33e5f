-- What those scripts of the outbox share that give turns out, or take them back. The first argument is the time, if it
-- is not to be the server's.
local now = ARGV[1] == '-' and server_time() or tonumber(ARGV[1])

local function failures_of(receipt)
  local attempts, pause_ends = string.match(redis.call('HGET', failures, receipt) or '0 0', '(%d+) (%d+)')
  return tonumber(attempts), tonumber(pause_ends)
end

local function lease_of(name)
  local lease_ends, owner = string.match(redis.call('HGET', leases, name) or '0 ', '^(%d+) (.*)$')
  return tonumber(lease_ends), owner
end

local function sessions_of(owner)
  local names, held = {}, redis.call('HGETALL', leases)
  for place = 1, #held, 2 do
    if string.match(held[place + 1], '^%d+ (.*)$') == owner then names[#names + 1] = held[place] end
  end
  return names
end

-- Puts a session among those that are ready or at rest. It is taken away first, which a full server allows: what waits
-- must get out of it.
local function schedule(name)
  redis.call('ZREM', ready, name)
  redis.call('ZREM', resting, name)
  local first = receipts_that_begin_with(name, 1)[1]
  if not first then
    redis.call('HDEL', leases, name)
    return
  end
  local lease_ends = lease_of(name)
  local _, pause_ends = failures_of(first)
  local rest_ends = math.max(lease_ends, pause_ends)
  if rest_ends > now then
    redis.call('ZADD', resting, integer(rest_ends), name)
  else
    redis.call('ZADD', ready, integer(number_of(first)), name)
  end
end

-- A lease that ends a minute later than one that begins now was taken before the clock of the server was set back, or by
-- a server whose clock was ahead and that was replaced.
local function end_leases_of_another_clock(lease)
  local held = redis.call('HGETALL', leases)
  for place = 1, #held, 2 do
    if lease_of(held[place]) > now + lease + 60000000 then
      redis.call('HDEL', leases, held[place])
      schedule(held[place])
    end
  end
end

local function wake()
  for _, name in ipairs(redis.call('ZRANGEBYSCORE', resting, '-inf', integer(now))) do schedule(name) end
end

-- It is not scheduled: what is held rests at least until its lease ends, whatever else keeps it.
local function hold(name, owner, lease)
  local rest_ends = tonumber(redis.call('ZSCORE', resting, name) or 0)
  redis.call('ZREM', ready, name)
  redis.call('HSET', leases, name, integer(now + lease) .. ' ' .. owner)
  redis.call('ZADD', resting, integer(math.max(rest_ends, now + lease)), name)
end

local function take_out(receipt)
  local entry = entry_of(receipt)
  if entry then redis.call('HDEL', operations, session_of(receipt) .. ':' .. entry[2]) end
  redis.call('HDEL', failures, receipt)
  redis.call('ZREM', ages, receipt)
  redis.call('ZREM', order, receipt)
  redis.call('HDEL', queued, receipt)
end

-- Returns what an owner may be given, the oldest first: of sessions that it holds, and of those that are ready.
local function claimable(owner, most)
  local names, held, found, failed = sessions_of(owner), {}, {}, redis.call('HLEN', failures) > 0
  for _, name in ipairs(names) do held[name] = true end
  for _, name in ipairs(redis.call('ZRANGE', ready, 0, most - 1)) do
    if not held[name] then names[#names + 1] = name end
  end
  for _, name in ipairs(names) do
    for _, receipt in ipairs(receipts_that_begin_with(name, most)) do
      if failed and select(2, failures_of(receipt)) > now then break end
      found[#found + 1] = {receipt = receipt, number = number_of(receipt)}
    end
  end
  table.sort(found, function(one, other) return one.number < other.number end)
  while #found > most do table.remove(found) end
  return found
end
