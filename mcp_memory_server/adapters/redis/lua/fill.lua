-- Answers 1 if it was done, 0 if a turn was appended that is not among these. They follow as id and text, oldest first.
local count, tokens, index = ARGV[1], ARGV[2], ARGV[3]
local now, life, state_life = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local forgotten_after, member, remembered = tonumber(ARGV[7]), ARGV[8], tonumber(ARGV[9])
local FIRST = 10
local oldest, newest = ARGV[FIRST], ARGV[#ARGV - 1]

local held = {}
for place = FIRST, #ARGV, 2 do held[ARGV[place]] = true end

-- The table is read newest first: what is older than the oldest of these was there and was left out.
local function is_missing(id)
  return not held[id] and not (oldest and is_after(oldest, id))
end

local at_hand, appended = unpack(redis.call('HMGET', session, 'index', 'appended'))
local turns = turns_at_hand(at_hand)
for _, turn in ipairs(turns) do
  if is_missing(turn.id) then return 0 end
end
-- A turn that was appended may have made way since, and must be among these all the same.
for place = 0, math.min(tonumber(appended) or 0, remembered) - 1 do
  if is_missing(string.sub(redis.call('HGET', session, 'recent:' .. place), 1, ID_LENGTH)) then return 0 end
end

redis.call('HSET', session, 'whole', this_run(), 'count', count, 'tokens', tokens, 'index', index)
if oldest then redis.call('HSET', session, 'last', newest) end
for place = FIRST, #ARGV, 2 do redis.call('HSET', session, 'turn:' .. ARGV[place], ARGV[place + 1]) end
for _, turn in ipairs(turns) do
  if not held[turn.id] then redis.call('HDEL', session, 'turn:' .. turn.id) end
end
stays_alive(now, life, state_life, forgotten_after, member)
return 1
