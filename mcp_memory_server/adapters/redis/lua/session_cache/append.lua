-- Returns: whether it is a repeat, the token of the cached session that counts the turn, the turn's id, count, tokens,
-- then an id and a text for each evicted turn; nothing if it was not appended.
local after, queued_at = ARGV[20], ARGV[21]
local after_is_said, is_queued = after ~= '-', queued_at ~= '-'

if known then return {1, cached.token, unpack(cmsgpack.unpack(known))} end
-- The copy may have been lost since the turn was queued.
local waits = is_queued and queued_as(member, operation)
if waits then return {1, '', waits, '0', '0'} end

local may_be_served = cached and cached.whole and is_current(cached, epoch)
if not may_be_served and not after_is_said then return false end
if not may_be_served and not stands() then begin_anew() end

local newest = cached.last
if after_is_said then newest = later(after, newest) end
if is_queued then newest = later(newest_queued(member), newest) end
if newest ~= '' and not is_after(id, newest) then id = next_id(newest) end

local answer = put()
if is_queued then enqueue(member, id, operation, queued_at, text, cached.token) end
return {0, cached.token, unpack(answer)}
