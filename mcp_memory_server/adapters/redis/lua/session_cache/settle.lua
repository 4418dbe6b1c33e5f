local now, member = tonumber(ARGV[1]), ARGV[2]
local deadline = tonumber(redis.call('ZSCORE', deadlines, member) or now + 1)
if deadline > now then return 0 end
return redis.call('ZREM', deadlines, member)
