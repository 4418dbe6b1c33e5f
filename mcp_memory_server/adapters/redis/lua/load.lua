-- Answers: count, tokens, then an id and a text for each turn; nothing if the copy is not whole.
local whole, count, tokens, index = unpack(redis.call('HMGET', session, 'whole', 'count', 'tokens', 'index'))
if not whole or whole ~= this_run() then return false end
local answer = {count, tokens}
for _, turn in ipairs(turns_at_hand(index)) do
  answer[#answer + 1] = turn.id
  answer[#answer + 1] = redis.call('HGET', session, 'turn:' .. turn.id)
end
return answer
