-- Returns: 1, the token, count, tokens, total tokens, summary, gap, then an id and a text for each turn; or 0, the
-- token, whether the session may be filled, and the id of the oldest recorded turn.
local epoch, token, life, settling, cannot_be_read = tonumber(ARGV[1]), ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5]

local function oldest_recorded(cached)
  local oldest
  for id in string.gmatch(cached.recorded, '(%S+) %S+\n') do
    if not oldest or is_after(oldest, id) then oldest = id end
  end
  return oldest or ''
end

local cached = cached_session()
if cached and cached.epoch > epoch then return {0, '', 0, ''} end
if not cached or not is_current(cached, epoch) or cannot_be_read == '1' then
  begin(epoch, token, life, cached and cached.last or '')
  return {0, token, settling <= 0 and 1 or 0, ''}
end
if not cached.whole then return {0, cached.token, has_settled(cached, settling) and 1 or 0, oldest_recorded(cached)} end

local answer = {1, unpack(redis.call('HMGET', session, 'token', 'count', 'tokens', 'total', 'summary', 'gap'))}
for _, turn in ipairs(turns_of(cached.index)) do
  answer[#answer + 1] = turn.id
  answer[#answer + 1] = redis.call('HGET', session, 'turn:' .. turn.id)
end
return answer
