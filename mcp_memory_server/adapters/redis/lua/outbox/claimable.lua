-- Renews what the owner holds, and answers the numbers of those that it could be given, the oldest first.
local owner, lease, most = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local answer = {}
end_leases_of_another_clock(lease)
wake()
for _, name in ipairs(sessions_of(owner)) do hold(name, owner, lease) end
for place, found in ipairs(claimable(owner, most)) do answer[place] = integer(found.number) end
return answer
