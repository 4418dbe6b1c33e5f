-- What the scripts of a session share. KEYS: the session, the deadlines of its bucket, its state.
--
-- A session is one hash, so that it expires, or is evicted, as a whole or not at all:
--   whole               the run of the server that filled it from the table: nothing is missing, as long as this
--                       server runs. One that was started from a snapshot, or promoted, may lack the last writes
--   count               how many turns there have been in all
--   tokens              how many tokens the turns at hand have
--   last                the id of the newest turn
--   index               a line for each turn at hand, oldest first: <id> <tokens> <importance>
--   turn:<id>           a turn
--   appended            how many turns were appended here
--   operation:<id>      what appending answered
--   recent:<place>      <turn id> <operation id>: the last operations, in a ring
--
-- Where a script adds something, its first write is one that a full server refuses: a refused script changed nothing.

local session, deadlines, state = KEYS[1], KEYS[2], KEYS[3]
local ID_LENGTH = 26
local LETTERS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

-- Not tostring, which writes large numbers with an exponent.
local function integer(number)
  return string.format('%.0f', number)
end

-- Not the operator, which compares as the server's language sorts words.
local function is_after(one, other)
  for place = 1, ID_LENGTH do
    local a, b = string.byte(one, place), string.byte(other, place)
    if a ~= b then return a > b end
  end
  return false
end

local function next_id(id)
  local place = ID_LENGTH
  while string.sub(id, place, place) == 'Z' do place = place - 1 end
  local letter = string.find(LETTERS, string.sub(id, place, place), 1, true)
  assert(place > 1 or letter < 8, 'no more ids')
  local raised = string.sub(LETTERS, letter + 1, letter + 1)
  return string.sub(id, 1, place - 1) .. raised .. string.rep('0', ID_LENGTH - place)
end

local function this_run()
  return string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
end

local function line_of(id, tokens, importance)
  return id .. ' ' .. tokens .. ' ' .. importance .. '\n'
end

local function turns_at_hand(index)
  local turns = {}
  for id, tokens, importance in string.gmatch(index or '', '(%S+) (%S+) (%S+)\n') do
    turns[#turns + 1] = {
      id = id, tokens = tonumber(tokens), importance = tonumber(importance), line = line_of(id, tokens, importance),
    }
  end
  return turns
end

local function stays_alive(now, life, state_life, forgotten_after, member)
  redis.call('PEXPIRE', session, integer(life))
  redis.call('PEXPIRE', state, integer(state_life))
  redis.call('ZADD', deadlines, integer(now + life), member)
  -- Where nobody takes care of what is due, deadlines would be kept for ever.
  redis.call('ZREMRANGEBYSCORE', deadlines, '-inf', integer(now - forgotten_after))
end
