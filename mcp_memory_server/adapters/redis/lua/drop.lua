local member, channel = ARGV[1], ARGV[2]
redis.call('UNLINK', session)
redis.call('ZREM', deadlines, member)
if redis.call('UNLINK', state) == 1 then redis.call('PUBLISH', channel, 0) end
return 1
