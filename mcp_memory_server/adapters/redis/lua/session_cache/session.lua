-- Shared by the scripts of a session. KEYS: the session, the deadlines of its bucket, its state. The protocol of filling
-- a session is that of ports/session_cache.py.
--
-- A session is one hash, so that it expires, or is evicted, as a whole or not at all:
--   run                 the run of the server that it was begun in. In another one the last writes may be missing
--   epoch               the epoch that it was begun in
--   since               when it was begun, in milliseconds of the server's clock
--   token               with it the session may be filled
--   whole               1 if it was filled from the table: nothing is missing
--   count               how many turns there have been in all; before it is whole, how many were recorded
--   tokens              how many tokens the cached turns have
--   total               how many tokens all those turns have that are counted
--   last                the id of the newest turn
--   gap                 the id of the newest turn that is not cached
--   summary             the rolling summary as JSON
--   index               a line for each cached turn, oldest first: <id> <tokens> <importance>
--   turn:<id>           a cached turn
--   recorded            before it is whole, a line for each turn added, also an evicted one: <id> <tokens>
--   added               how many turns were added here
--   operation:<id>      the reply to adding
--   recent:<place>      <operation id>: the last operations, in a ring
--
-- Where a script adds something, its first write is one that a full server refuses: a refused script changed nothing.

local session, deadlines, state = KEYS[1], KEYS[2], KEYS[3]
local ID_LENGTH = 26
local LETTERS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

-- Not the operator, which compares as the server's language sorts words. Nothing sorts before everything.
local function is_after(one, other)
  for place = 1, ID_LENGTH do
    local a, b = string.byte(one, place) or 0, string.byte(other, place) or 0
    if a ~= b then return a > b end
  end
  return false
end

local function later(one, other)
  return is_after(one, other) and one or other
end

local function next_id(id)
  local place = ID_LENGTH
  while string.sub(id, place, place) == 'Z' do place = place - 1 end
  local letter = string.find(LETTERS, string.sub(id, place, place), 1, true)
  assert(place > 1 or letter < 8, 'no more ids')
  local raised = string.sub(LETTERS, letter + 1, letter + 1)
  return string.sub(id, 1, place - 1) .. raised .. string.rep('0', ID_LENGTH - place)
end

local function milliseconds_now()
  return math.floor(server_time() / 1000)
end

local function line_of(id, tokens, importance)
  return id .. ' ' .. tokens .. ' ' .. importance .. '\n'
end

local function turns_of(index)
  local turns = {}
  for id, tokens, importance in string.gmatch(index, '(%S+) (%S+) (%S+)\n') do
    turns[#turns + 1] = {
      id = id, tokens = tonumber(tokens), importance = tonumber(importance), line = line_of(id, tokens, importance),
    }
  end
  return turns
end

-- Returns nothing if there is no cached session.
local function cached_session()
  local run, epoch, since, token, whole, count, total, last, gap, index, recorded, added = unpack(redis.call('HMGET',
    session, 'run', 'epoch', 'since', 'token', 'whole', 'count', 'total', 'last', 'gap', 'index', 'recorded', 'added'))
  if not run then return nil end
  return {
    run = run, epoch = tonumber(epoch), since = tonumber(since), token = token, whole = whole == '1',
    count = tonumber(count) or 0, total = tonumber(total) or 0, last = last or '', gap = gap or '',
    index = index or '', recorded = recorded or '', added = tonumber(added) or 0,
  }
end

local function is_current(cached, epoch)
  return cached.epoch == epoch and cached.run == this_run()
end

local function has_settled(cached, settling)
  return milliseconds_now() - cached.since >= settling
end

-- Ids go on rising: turns of the session that was there may still be in the outbox.
local function begin(epoch, token, life, last)
  redis.call('HSET', session, 'token', token)
  redis.call('UNLINK', session)
  redis.call('HSET', session, 'run', this_run(), 'epoch', integer(epoch), 'since', integer(milliseconds_now()),
    'token', token, 'last', last)
  redis.call('PEXPIRE', session, life)
end

local function in_order_of_eviction(turns)
  local places = {}
  for place = 2, #turns - 1 do places[#places + 1] = place end
  table.sort(places, function(one, other)
    if turns[one].importance == turns[other].importance then return one < other end
    return turns[one].importance < turns[other].importance
  end)
  return places
end

-- Marks the turns that are evicted. The same decision as in domain/sessions/limits.py.
local function make_room(turns, max_tokens, max_turns)
  local tokens, count = 0, #turns
  for _, turn in ipairs(turns) do tokens = tokens + turn.tokens end
  for _, place in ipairs(in_order_of_eviction(turns)) do
    if tokens <= max_tokens and count <= max_turns then break end
    turns[place].is_evicted = true
    tokens, count = tokens - turns[place].tokens, count - 1
  end
  return tokens
end

-- Returns the index of the turns that stay, and the ids of the evicted ones.
local function parted(turns)
  local lines, evicted = {}, {}
  for _, turn in ipairs(turns) do
    if turn.is_evicted then evicted[#evicted + 1] = turn.id else lines[#lines + 1] = turn.line end
  end
  return table.concat(lines), evicted
end

local function stays_alive(now, life, state_life, forgotten_after, member)
  redis.call('PEXPIRE', session, integer(life))
  redis.call('PEXPIRE', state, integer(state_life))
  redis.call('ZADD', deadlines, integer(now + life), member)
  -- Where no process finishes due sessions, deadlines would be kept for ever.
  redis.call('ZREMRANGEBYSCORE', deadlines, '-inf', integer(now - forgotten_after))
end
