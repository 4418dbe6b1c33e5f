-- Returns how many turns were removed.
local receipts = receipts_that_begin_with(ARGV[2])
for _, receipt in ipairs(receipts) do take_out(receipt) end
for _, receipt in ipairs(receipts) do schedule(session_of(receipt)) end
return #receipts
