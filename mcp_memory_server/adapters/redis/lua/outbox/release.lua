for _, name in ipairs(sessions_of(ARGV[2])) do
  redis.call('HDEL', leases, name)
  schedule(name)
end
return 1
