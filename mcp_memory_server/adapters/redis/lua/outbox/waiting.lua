-- Returns a turn id, an operation id, when it was queued, the turn, and what counted it, for each queued turn.
local answer = {}
for _, receipt in ipairs(receipts_that_begin_with(ARGV[1])) do
  local entry = entry_of(receipt)
  if entry then add_entry(answer, entry) end
end
return answer
