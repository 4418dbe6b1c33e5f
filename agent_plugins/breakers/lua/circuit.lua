-- One circuit, shared by workers. Every change raises its generation, which is also the fencing token of a probe: a
-- caller with an old one changes nothing and gets the current state. Returns the state, the generation, how many
-- milliseconds remain, and whether the command was carried out.
local record, names = KEYS[1], KEYS[2]
local command, name, generation_known, milliseconds, channel, origin, life =
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

-- Generations are times of the server, so that they keep rising after it lost its data.
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

if command == 'look' then return answer(false) end

if command == 'claim' then
  -- A circuit that is unknown here was lost by the server, or its report did not arrive: the worker knows it is open.
  local closed = state == 'closed' and generation > generation_known
  if closed or (state ~= 'closed' and remaining() > 0) then return answer(false) end
  return change('half_open', milliseconds)
end

if command == 'open' then
  -- Failures of calls that began before the circuit last changed say nothing about its current state.
  local is_news = (state == 'closed' or state == 'unknown') and generation <= generation_known
  if not is_news then return answer(false) end
  return change('open', milliseconds)
end

-- The remaining commands are for the holder of the probe.
if state ~= 'half_open' or generation ~= generation_known then return answer(false) end
if command == 'close' then return change('closed', 0) end
if command == 'fail' then return change('open', milliseconds) end
if command == 'free' then return change('open', 0) end
return redis.error_reply('unknown command ' .. command)
