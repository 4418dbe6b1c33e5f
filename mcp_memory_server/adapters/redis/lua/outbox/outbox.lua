-- What the scripts of the outbox share. The last eight KEYS: the outbox of a bucket.
--   queued              hash: receipt to turn id, operation id, when it was queued, the turn, and the token of the cached
--                       session that counted it
--   ages                sorted set: receipts by when they were queued, in microseconds
--   order               sorted set: receipts in the order of their text, which is that of adding within a session
--   operations          hash: <session>:<operation id> to receipt
--   ready               sorted set: sessions that anybody may claim, by the number of their first turn
--   resting             sorted set: sessions that are held or put off, by when that ends, in microseconds
--   leases              hash: session to <until when> <owner>
--   failures            hash: receipt to <attempts> <not to be given out before>
--
-- A session is written <user>:<id>, a receipt <user>:<id>:<number>; ids are encoded and hold no colon. Numbers are
-- microseconds of the server's clock, and rise within a session also when it steps back.

local queued, ages, order, operations, ready, resting, leases, failures = unpack(KEYS, #KEYS - 7)
local NUMBER_LENGTH = 16

-- The sign after ":" is ";".
local function receipts_that_begin_with(name, most)
  return redis.call('ZRANGEBYLEX', order, '[' .. name .. ':', '(' .. name .. ';', 'LIMIT', 0, most or -1)
end

local function newest_receipt(name)
  return redis.call('ZREVRANGEBYLEX', order, '(' .. name .. ';', '[' .. name .. ':', 'LIMIT', 0, 1)[1]
end

local function session_of(receipt)
  return string.sub(receipt, 1, -NUMBER_LENGTH - 2)
end

local function number_of(receipt)
  return tonumber(string.sub(receipt, -NUMBER_LENGTH))
end

local function entry_of(receipt)
  local entry = receipt and redis.call('HGET', queued, receipt)
  return entry and cmsgpack.unpack(entry)
end

local function add_entry(answer, entry)
  for part = 1, 4 do answer[#answer + 1] = entry[part] end
  answer[#answer + 1] = entry[5] or ''
end

-- The id of the turn that was queued under an operation, if it is still queued.
local function queued_as(name, operation)
  local entry = entry_of(redis.call('HGET', operations, name .. ':' .. operation))
  return entry and entry[1]
end

-- The id of the last queued turn, or ''.
local function newest_queued(name)
  local entry = entry_of(newest_receipt(name))
  return entry and entry[1] or ''
end

local function enqueue(name, id, operation, queued_at, text, counted_in)
  local number, newest = server_time(), newest_receipt(name)
  if newest then number = math.max(number, number_of(newest) + 1) end
  local receipt = name .. ':' .. string.format('%0' .. NUMBER_LENGTH .. '.0f', number)
  redis.call('HSET', queued, receipt, cmsgpack.pack({id, operation, queued_at, text, counted_in}))
  redis.call('HSET', operations, name .. ':' .. operation, receipt)
  redis.call('ZADD', ages, queued_at, receipt)
  redis.call('ZADD', order, 0, receipt)
  if not newest then redis.call('ZADD', ready, integer(number), name) end
end
