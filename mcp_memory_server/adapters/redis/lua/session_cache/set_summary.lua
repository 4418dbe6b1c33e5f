if redis.call('HGET', session, 'whole') ~= '1' then return 0 end
redis.call('HSET', session, 'summary', ARGV[1])
return 1
