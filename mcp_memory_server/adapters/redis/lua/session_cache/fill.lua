-- Returns 1 if the session is whole now, else 0. The turns follow as id and text.
-- ``stored``, ids of one length without a separator: the turns that the table holds after ``since``.
local epoch, token, settling = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3])
local count, total, gap_of_table, summary = tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6], ARGV[7]
local max_tokens, max_turns = tonumber(ARGV[8]), tonumber(ARGV[9])
local from_turns, life_at_first, life_later = tonumber(ARGV[10]), tonumber(ARGV[11]), tonumber(ARGV[12])
local now, state_life, forgotten_after, member = tonumber(ARGV[13]), tonumber(ARGV[14]), tonumber(ARGV[15]), ARGV[16]
local since, stored = ARGV[17], ARGV[18]
local turns, FIRST = turns_of(ARGV[19]), 20

local cached = cached_session()
if not cached or not is_current(cached, epoch) then return 0 end
if cached.whole then return 1 end
if cached.token ~= token or not has_settled(cached, settling) then return 0 end

local given, in_table, recorded, cached_turns = {}, {}, {}, {}
for id in string.gmatch(stored, string.rep('.', ID_LENGTH)) do in_table[id] = true end
for _, turn in ipairs(turns) do given[turn.id], in_table[turn.id] = true, true end
for id, tokens in string.gmatch(cached.recorded, '(%S+) (%S+)\n') do recorded[id] = tonumber(tokens) end
for _, turn in ipairs(turns_of(cached.index)) do cached_turns[turn.id] = turn end

-- Of a turn that was recorded before ``since`` nobody looked whether the table counts it already.
for id in pairs(recorded) do
  if not in_table[id] and not is_after(id, since) then return 0 end
end
-- Nor is a session whole without the turns that were queued before it was begun.
for _, receipt in ipairs(receipts_that_begin_with(member)) do
  local id = entry_of(receipt)[1]
  if not (in_table[id] or recorded[id]) then return 0 end
end

local gap = gap_of_table
for id, tokens in pairs(recorded) do
  if not in_table[id] then
    count, total = count + 1, total + tokens
    if cached_turns[id] then
      turns[#turns + 1] = cached_turns[id]
      cached_turns[id] = nil
    else
      gap = later(id, gap)
    end
  end
end
table.sort(turns, function(one, other) return is_after(other.id, one.id) end)

local tokens = make_room(turns, max_tokens, max_turns)
local index, evicted = parted(turns)
for _, id in ipairs(evicted) do gap = later(id, gap) end
local last = #turns > 0 and later(turns[#turns].id, cached.last) or cached.last

redis.call('HSET', session, 'whole', '1', 'count', integer(count), 'tokens', integer(tokens), 'total', integer(total),
  'last', last, 'gap', gap, 'summary', summary, 'index', index)
for place = FIRST, #ARGV, 2 do redis.call('HSET', session, 'turn:' .. ARGV[place], ARGV[place + 1]) end
redis.call('HDEL', session, 'recorded')
for id in pairs(cached_turns) do
  if not given[id] then redis.call('HDEL', session, 'turn:' .. id) end
end
for _, id in ipairs(evicted) do redis.call('HDEL', session, 'turn:' .. id) end
stays_alive(now, count >= from_turns and life_later or life_at_first, state_life, forgotten_after, member)
return 1
