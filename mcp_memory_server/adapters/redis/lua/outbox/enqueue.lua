local name, id, operation, queued_at, text, counted_in = unpack(ARGV)
if redis.call('HEXISTS', operations, name .. ':' .. operation) == 1 then return 0 end
enqueue(name, id, operation, queued_at, text, counted_in)
-- A cached session that was begun since the turn was given its id would be read without the turn.
local session = KEYS[1]
if redis.call('HGET', session, 'token') ~= counted_in and redis.call('HEXISTS', session, 'turn:' .. id) == 0 then
  redis.call('UNLINK', session)
end
return 1
