-- What the scripts ask the server, and how they write numbers down.

-- Not tostring, which writes large numbers with an exponent.
local function integer(number)
  return string.format('%.0f', number)
end

-- Microseconds.
local function server_time()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000000 + tonumber(time[2])
end

-- What no other start of this server has, nor any other time that it was promoted: a server that was away lost what was
-- written meanwhile, and must not find current what it had before.
local function this_run()
  local started = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)') or ''
  local promoted = string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)') or ''
  assert(started .. promoted ~= '', 'the server does not tell its runs apart')
  return started .. '-' .. promoted
end
