-- The executor ends: nothing more is sent to it. What it holds stays counted until it is reaped.
-- Keys: see common.lua.
-- Args: prefix, executor, cold_s.
-- Result: none.

for _, id in ipairs(call('SMEMBERS', key('serves', executor))) do withdraw(id, executor, ARGV[3]) end
call('DEL', key('serves', executor))
if call('HLEN', key('holds', executor)) == 0 then
  call('ZREM', prefix .. 'alive', executor)
  call('DEL', key('inbox', executor))
end
