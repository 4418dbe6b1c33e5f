-- What appending and noting a turn share: the arguments that both get, and putting a turn into its place.
local epoch, token, operation, id, text, tokens, importance = tonumber(ARGV[1]), unpack(ARGV, 2, 7)
local max_tokens, max_turns = tonumber(ARGV[8]), tonumber(ARGV[9])
local from_turns, life_at_first, life_later = tonumber(ARGV[10]), tonumber(ARGV[11]), tonumber(ARGV[12])
local remembered, full_replies_kept, max_recorded = tonumber(ARGV[13]), tonumber(ARGV[14]), tonumber(ARGV[15])
local now, state_life, forgotten_after, member = tonumber(ARGV[16]), tonumber(ARGV[17]), tonumber(ARGV[18]), ARGV[19]

local cached = cached_session()
local known = redis.call('HGET', session, 'operation:' .. operation)

-- A session of a later epoch is there for others than this caller, and must not miss its turn.
local function stands()
  return cached and cached.epoch >= epoch and cached.run == this_run()
end

local function begin_anew()
  begin(epoch, token, life_at_first, cached and cached.last or '')
  cached = cached_session()
end

local function in_its_place(turns, turn)
  local place = #turns + 1
  while place > 1 and is_after(turns[place - 1].id, turn.id) do place = place - 1 end
  table.insert(turns, place, turn)
end

local function recent(place)
  local entry = redis.call('HGET', session, 'recent:' .. place)
  return entry and 'operation:' .. entry
end

local function remember(answer)
  local place = cached.added % remembered
  local forgotten, no_longer_in_full = recent(place), recent((cached.added - full_replies_kept) % remembered)
  redis.call('HSET', session, 'added', integer(cached.added + 1), 'recent:' .. place, operation,
    'operation:' .. operation, cmsgpack.pack(answer))
  if forgotten then redis.call('HDEL', session, forgotten) end
  if no_longer_in_full then
    local first_time = cmsgpack.unpack(redis.call('HGET', session, no_longer_in_full))
    redis.call('HSET', session, no_longer_in_full, cmsgpack.pack({first_time[1], first_time[2], first_time[3]}))
  end
end

-- Returns: the turn's id, count, tokens, then an id and a text for each evicted turn.
local function put()
  -- So many are recorded only where no process fills the session. A fill with an older token is refused.
  if not cached.whole and cached.count >= max_recorded then begin_anew() end
  local turns, count = turns_of(cached.index), cached.count + 1
  in_its_place(turns, {
    id = id, tokens = tonumber(tokens), importance = tonumber(importance), line = line_of(id, tokens, importance),
  })
  redis.call('HSET', session, 'turn:' .. id, text)
  local kept_tokens = make_room(turns, max_tokens, max_turns)
  local index, evicted = parted(turns)
  local answer, gap = {id, integer(cached.whole and count or 0), integer(kept_tokens)}, cached.gap
  for _, name in ipairs(evicted) do
    answer[#answer + 1] = name
    answer[#answer + 1] = redis.call('HGET', session, 'turn:' .. name)
    redis.call('HDEL', session, 'turn:' .. name)
    gap = later(name, gap)
  end
  redis.call('HSET', session, 'count', integer(count), 'tokens', integer(kept_tokens),
    'total', integer(cached.total + tonumber(tokens)), 'last', later(id, cached.last), 'gap', gap, 'index', index)
  if not cached.whole then redis.call('HSET', session, 'recorded', cached.recorded .. id .. ' ' .. tokens .. '\n') end
  remember(answer)
  stays_alive(now, count >= from_turns and life_later or life_at_first, state_life, forgotten_after, member)
  return answer
end
