-- Answers: whether it is a repeat, the turn's id, count, tokens, then an id and a text for each turn that made way.
local operation, id, text, tokens, importance = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local max_tokens, max_turns = tonumber(ARGV[6]), tonumber(ARGV[7])
local from_turns, life_at_first, life_later = tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10])
local remembered, told_in_full = tonumber(ARGV[11]), tonumber(ARGV[12])
local now, state_life, forgotten_after, member = tonumber(ARGV[13]), tonumber(ARGV[14]), tonumber(ARGV[15]), ARGV[16]

local known = redis.call('HGET', session, 'operation:' .. operation)
if known then
  local answer = cmsgpack.unpack(known)
  table.insert(answer, 1, 1)
  return answer
end

local function in_order_of_leaving(turns)
  local places = {}
  for place = 2, #turns - 1 do places[#places + 1] = place end
  table.sort(places, function(one, other)
    if turns[one].importance == turns[other].importance then return one < other end
    return turns[one].importance < turns[other].importance
  end)
  return places
end

-- The same decision as in domain/sessions.py.
local function make_room(turns)
  local total, count = 0, #turns
  for _, turn in ipairs(turns) do total = total + turn.tokens end
  for _, place in ipairs(in_order_of_leaving(turns)) do
    if total <= max_tokens and count <= max_turns then break end
    turns[place].leaves = true
    total, count = total - turns[place].tokens, count - 1
  end
  return total
end

local whole, count, last, index, appended =
  unpack(redis.call('HMGET', session, 'whole', 'count', 'last', 'index', 'appended'))
count, appended = (tonumber(count) or 0) + 1, tonumber(appended) or 0
if last and not is_after(id, last) then id = next_id(last) end

local turns = turns_at_hand(index)
turns[#turns + 1] = {
  id = id, tokens = tonumber(tokens), importance = tonumber(importance), line = line_of(id, tokens, importance),
}
local total = make_room(turns)
local lines, gone, answer = {}, {}, {id, integer(count), integer(total)}
for _, turn in ipairs(turns) do
  if turn.leaves then
    gone[#gone + 1] = 'turn:' .. turn.id
    answer[#answer + 1] = turn.id
    answer[#answer + 1] = redis.call('HGET', session, 'turn:' .. turn.id)
  else
    lines[#lines + 1] = turn.line
  end
end

local function recent(place)
  local entry = redis.call('HGET', session, 'recent:' .. place)
  return entry and 'operation:' .. string.sub(entry, ID_LENGTH + 2)
end

local place = appended % remembered
local forgotten, no_longer_in_full = recent(place), recent((appended - told_in_full) % remembered)
redis.call('HSET', session,
  'count', integer(count), 'tokens', integer(total), 'last', id, 'index', table.concat(lines),
  'turn:' .. id, text, 'appended', integer(appended + 1),
  'recent:' .. place, id .. ' ' .. operation, 'operation:' .. operation, cmsgpack.pack(answer))
-- The server that filled it may be promoted again, and must not find whole what it was away from.
if whole and whole ~= this_run() then redis.call('HDEL', session, 'whole') end
for _, field in ipairs(gone) do redis.call('HDEL', session, field) end
if forgotten then redis.call('HDEL', session, forgotten) end
if no_longer_in_full then
  local first_time = cmsgpack.unpack(redis.call('HGET', session, no_longer_in_full))
  redis.call('HSET', session, no_longer_in_full, cmsgpack.pack({first_time[1], first_time[2], first_time[3]}))
end
stays_alive(now, count >= from_turns and life_later or life_at_first, state_life, forgotten_after, member)

table.insert(answer, 1, 0)
return answer
