local member = ARGV[1]
redis.call('UNLINK', session)
redis.call('UNLINK', state)
redis.call('ZREM', deadlines, member)
return 1
