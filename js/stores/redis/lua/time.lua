-- The store's time, which questions do not ask for. Where the clock has fallen back by more than a minute the origin of all instants moves instead
-- of them: what leaves the store is shown less `offset`.
local now
do --@ fresh
  local clock = G.clock
  if clock ~= clock then
    local time = call('TIME')
    clock = time[1] * 1000 + math.floor(time[2] / 1000)
  end
  local at = clock + S.offset
  if at < S.highWater - STEP_MS then
    S.offset = S.highWater - clock
    at = S.highWater
  end
  now = max(at, S.highWater)
  if S.born == 0 then
    local time = call('TIME')
    S.born = time[1] * 1000000 + time[2]
  end
end
