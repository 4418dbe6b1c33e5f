local channel = ARGV[1]
if redis.call('UNLINK', state) == 1 then redis.call('PUBLISH', channel, 0) end
return 1
