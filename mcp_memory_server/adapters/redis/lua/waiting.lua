-- Returns a turn id, an operation id, when it was queued, and the turn, for each queued turn.
local answer = {}
for _, receipt in ipairs(receipts_that_begin_with(ARGV[1])) do
  local entry = entry_of(receipt)
  if entry then tell(answer, entry) end
end
return answer
