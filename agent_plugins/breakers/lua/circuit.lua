-- One circuit, shared by workers. Every change raises its generation, which is also the token of a probe: whoever holds
-- an old one is told how things stand, and changes nothing. Answers the state, the generation, how many milliseconds
-- remain, and whether the caller's wish was granted.
local record, names = KEYS[1], KEYS[2]
local wish, name, generation_known, milliseconds, channel, origin, life =
  ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5], ARGV[6], ARGV[7]

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

-- Not tostring, which writes large numbers with an exponent.
local function integer(number) return string.format('%.0f', number) end

local found = redis.call('HMGET', record, 'state', 'generation', 'until')
local state, generation, till = found[1] or 'unknown', tonumber(found[2]) or 0, tonumber(found[3]) or 0

local function remaining() return math.max(till - now, 0) end

local function answer(granted)
  return { state, integer(generation), integer(remaining()), granted and 1 or 0 }
end

-- Generations are times of the server, so that they go on rising when it lost its memory.
local function change(to, after)
  state, till = to, now + after
  generation = math.max(generation + 1, generation_known + 1, now * 1000)
  redis.call('HSET', record, 'state', state, 'generation', integer(generation), 'until', integer(till), 'name', name,
    'by', origin, 'at', integer(now))
  redis.call('PEXPIRE', record, life)
  redis.call('SADD', names, name)
  redis.call('PEXPIRE', names, life)
  redis.call('PUBLISH', channel, cjson.encode({ name, origin, state, integer(generation), integer(after) }))
  return answer(true)
end

if wish == 'look' then return answer(false) end

if wish == 'claim' then
  -- An open circuit that nobody knows of was forgotten by the server, or could not be told to it: it is open here.
  local closed = state == 'closed' and generation > generation_known
  if closed or (state ~= 'closed' and remaining() > 0) then return answer(false) end
  return change('half_open', milliseconds)
end

if wish == 'open' then
  -- Failures of calls that began before the circuit last changed say nothing about how it is now.
  local is_news = (state == 'closed' or state == 'unknown') and generation <= generation_known
  if not is_news then return answer(false) end
  return change('open', milliseconds)
end

-- The rest is for whoever holds the probe.
if state ~= 'half_open' or generation ~= generation_known then return answer(false) end
if wish == 'close' then return change('closed', 0) end
if wish == 'fail' then return change('open', milliseconds) end
if wish == 'free' then return change('open', 0) end
return redis.error_reply('unknown wish ' .. wish)
