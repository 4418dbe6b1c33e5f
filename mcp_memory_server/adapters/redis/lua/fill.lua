-- Answers 1 if the copy is whole now, else 0. The turns follow as id and text.
local epoch, token, settling = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3])
local count, total, gap_of_table, summary = tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6], ARGV[7]
local max_tokens, max_turns = tonumber(ARGV[8]), tonumber(ARGV[9])
local from_turns, life_at_first, life_later = tonumber(ARGV[10]), tonumber(ARGV[11]), tonumber(ARGV[12])
local now, state_life, forgotten_after, member = tonumber(ARGV[13]), tonumber(ARGV[14]), tonumber(ARGV[15]), ARGV[16]
local turns, FIRST = turns_of(ARGV[17]), 18

local copy = copy_at_hand()
if not copy or not is_current(copy, epoch) then return 0 end
if copy.whole then return 1 end
if copy.token ~= token or not has_settled(copy, settling) then return 0 end

local given, at_hand = {}, {}
for _, turn in ipairs(turns) do given[turn.id] = true end
for _, turn in ipairs(turns_of(copy.index)) do at_hand[turn.id] = turn end

local gap = gap_of_table
-- What is not later than the table's gap and not given was in the table and was left out, and is counted already.
for id, tokens in string.gmatch(copy.recorded, '(%S+) (%S+)\n') do
  if not given[id] and is_after(id, gap_of_table) then
    count, total = count + 1, total + tonumber(tokens)
    if at_hand[id] then
      turns[#turns + 1] = at_hand[id]
      at_hand[id] = nil
    else
      gap = later(id, gap)
    end
  end
end
table.sort(turns, function(one, other) return is_after(other.id, one.id) end)

local tokens = make_room(turns, max_tokens, max_turns)
local index, gone = parted(turns)
for _, id in ipairs(gone) do gap = later(id, gap) end
local last = #turns > 0 and later(turns[#turns].id, copy.last) or copy.last

redis.call('HSET', session, 'whole', '1', 'count', integer(count), 'tokens', integer(tokens), 'total', integer(total),
  'last', last, 'gap', gap, 'summary', summary, 'index', index)
for place = FIRST, #ARGV, 2 do redis.call('HSET', session, 'turn:' .. ARGV[place], ARGV[place + 1]) end
redis.call('HDEL', session, 'recorded')
for id in pairs(at_hand) do
  if not given[id] then redis.call('HDEL', session, 'turn:' .. id) end
end
for _, id in ipairs(gone) do redis.call('HDEL', session, 'turn:' .. id) end
stays_alive(now, count >= from_turns and life_later or life_at_first, state_life, forgotten_after, member)
return 1
