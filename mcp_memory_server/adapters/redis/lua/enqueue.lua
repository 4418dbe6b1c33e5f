local name, id, operation, queued_at, text = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
if redis.call('HEXISTS', operations, name .. ':' .. operation) == 1 then return 0 end
enqueue(name, id, operation, queued_at, text)
return 1
