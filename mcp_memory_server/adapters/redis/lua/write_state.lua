-- Returns the new version, or 0 if another one than the expected is stored.
local expected, value, state_life, channel = tonumber(ARGV[1]), ARGV[2], ARGV[3], ARGV[4]
local version = tonumber(redis.call('HGET', state, 'version') or 0)
if version ~= expected then return 0 end
redis.call('HSET', state, 'version', integer(version + 1), 'value', value)
redis.call('PEXPIRE', state, state_life)
redis.call('PUBLISH', channel, integer(version + 1))
return version + 1
