-- Answers: 1, count, tokens, total tokens, summary, gap, then an id and a text for each turn; or 0, the token, and
-- whether the copy may be filled.
local epoch, token, life, settling, cannot_be_read = tonumber(ARGV[1]), ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5]
local copy = copy_at_hand()
if copy and copy.epoch > epoch then return {0, '', 0} end
if not copy or not is_current(copy, epoch) or cannot_be_read == '1' then
  begin(epoch, token, life, copy and copy.last or '')
  return {0, token, settling <= 0 and 1 or 0}
end
if not copy.whole then return {0, copy.token, has_settled(copy, settling) and 1 or 0} end

local answer = {1, unpack(redis.call('HMGET', session, 'count', 'tokens', 'total', 'summary', 'gap'))}
for _, turn in ipairs(turns_of(copy.index)) do
  answer[#answer + 1] = turn.id
  answer[#answer + 1] = redis.call('HGET', session, 'turn:' .. turn.id)
end
return answer
