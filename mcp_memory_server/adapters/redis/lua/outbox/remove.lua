local sessions = {}
for place = 2, #ARGV do
  take_out(ARGV[place])
  sessions[session_of(ARGV[place])] = true
end
for name in pairs(sessions) do schedule(name) end
return 1
