local counted_in = ARGV[20]

local function is_recorded()
  return string.find('\n' .. cached.recorded, '\n' .. id .. ' ', 1, true)
end

-- A turn may have been put here under an id that its writer never heard of, and was then given another one.
local function has_another_id()
  return known and cmsgpack.unpack(known)[1] ~= id
end

-- Every later turn than the gap is cached. An earlier one may have been counted and evicted, or filled without it.
local function may_be_counted()
  return cached.whole and cached.gap ~= '' and not is_after(id, cached.gap)
end

if not cached then return 0 end
-- Another process may still use a session of an earlier epoch, for as long as its snapshot of the epoch lasts.
if not stands() or has_another_id() then
  begin_anew()
elseif counted_in == cached.token or known or is_recorded() or redis.call('HEXISTS', session, 'turn:' .. id) == 1 then
  return 0
elseif may_be_counted() then
  begin_anew()
end
put()
return 1
