-- Returns which run of which server answers.
redis.call('EXISTS', KEYS[1])
return this_run()
