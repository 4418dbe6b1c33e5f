local owner, receipt, pause = ARGV[2], ARGV[3], tonumber(ARGV[4])
local lease_ends, holder = lease_of(session_of(receipt))
if redis.call('HEXISTS', queued, receipt) == 0 or (holder ~= owner and lease_ends > now) then return 0 end
local attempts = failures_of(receipt)
redis.call('HDEL', failures, receipt)
redis.call('HSET', failures, receipt, integer(attempts + 1) .. ' ' .. integer(now + pause))
schedule(session_of(receipt))
return 1
