-- Returns a receipt, attempts, a turn id, an operation id, when it was queued, and the turn, for each that was claimed.
local owner, lease, most = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local answer, sessions = {}, {}

local function take(receipt, entry)
  sessions[session_of(receipt)] = true
  answer[#answer + 1] = receipt
  answer[#answer + 1] = failures_of(receipt)
  add_entry(answer, entry)
end

end_leases_of_another_clock(lease)
wake()
for _, found in ipairs(claimable(owner, most)) do
  local entry = entry_of(found.receipt)
  if entry then
    take(found.receipt, entry)
  else
    take_out(found.receipt)  -- the server lost the turn
    schedule(session_of(found.receipt))
  end
end
for name in pairs(sessions) do hold(name, owner, lease) end
return answer
