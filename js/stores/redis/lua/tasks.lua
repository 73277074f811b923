-- How a task passes from one status to another, and comes to a lease: with ends.lua the only place that changes counters, leases
-- and turns in an order.

-- Whether the body of a task with this status takes room: a dead letter may be sent again.
local TAKES_ROOM = { [0] = true, true, false, true, false }

-- Counts `by` tasks like this one more, or fewer.
local function count(row, by)
  local lane, status = laneOf(row), row.status
  local counter = COUNTER[status]
  S[counter] = S[counter] + by
  if TAKES_ROOM[status] then S.bytes = S.bytes + by * row.bodyBytes end
  if status == EXHAUSTED then lane.dead = lane.dead + by end
  if status > IN_FLIGHT then countEnd(lane, status, by) end
  if status <= IN_FLIGHT and row.aside == 0 then lane[LANES_OWN[status]] = lane[LANES_OWN[status]] + by end
  if everyone and TAKES_ROOM[status] then
    gainShare(lane, by, by * row.bodyBytes, status == IN_FLIGHT and S.limited == 1 and by or 0)
    if by == 1 and status == PENDING and row.aside == 0 and lane.pending == 1 then takeTag(lane) end
  end
  touch(lane)
end

-- `count` of what it was and of what it becomes, as one.
local function become(row, status)
  local lane, before = lanes[row.lane] or laneOf(row), row.status
  local from, to = COUNTER[before], COUNTER[status]
  S[from], row.status = S[from] - 1, status
  S[to] = S[to] + 1
  touched[lane.no] = lane
  if before <= IN_FLIGHT and row.aside == 0 then lane[LANES_OWN[before]] = lane[LANES_OWN[before]] - 1 end
  if status <= IN_FLIGHT and row.aside == 0 then lane[LANES_OWN[status]] = lane[LANES_OWN[status]] + 1 end
  local room = TAKES_ROOM[before] == TAKES_ROOM[status] and 0 or (TAKES_ROOM[status] and 1 or -1)
  if room ~= 0 then S.bytes = S.bytes + room * row.bodyBytes end
  if everyone and (room ~= 0 or S.limited == 1) then
    local runs = S.limited == 1 and (status == IN_FLIGHT and 1 or 0) - (before == IN_FLIGHT and 1 or 0) or 0
    gainShare(lane, room, room * row.bodyBytes, runs)
  end
  if everyone and status == PENDING and row.aside == 0 and lane.pending == 1 then takeTag(lane) end
  if before == EXHAUSTED then lane.dead = lane.dead - 1 end
  if status == EXHAUSTED then lane.dead = lane.dead + 1 end
  if before > IN_FLIGHT then countEnd(lane, before, -1) end
  if status > IN_FLIGHT then countEnd(lane, status, 1) end
  if row.homeName ~= '' and (before <= IN_FLIGHT) ~= (status <= IN_FLIGHT) then countHome(row, status <= IN_FLIGHT and 1 or -1) end
end

-- A line of a task's history: an attempt, or a note among them.
local function keepLog(row, text, wasSent)
  if wasSent then
    -- the youngest lies in the row: most tasks have one attempt, and so nothing in A
    local n = row.logged
    if n > 0 then put(A, row.id .. pack('>i4', n), row.log) end
    if n >= LOG_LENGTH then remove(A, row.id .. pack('>i4', n + 1 - LOG_LENGTH)) end
    row.logged, row.log = n + 1, text
  else
    row.noted = row.noted + 1
    put(A, row.id .. pack('>i4', -row.noted), pack('>I4', row.logged) .. text)
    if row.noted > NOTES_LENGTH then remove(A, row.id .. pack('>i4', NOTES_LENGTH - row.noted)) end
  end
end

local function orderAs(row)
  return row.order .. pack('>d', row.seq) .. row.id
end
local function firstOfOrder(order)
  local member = firstIn(O, '[' .. order, '(' .. order .. '\255')
  return member and rowOf(sub(member, 25))
end
-- Puts a row that is about to be pending into its order, behind what is there.
local function lineUp(row)
  if row.order == NONE then
    row.behind = 0
  else
    row.behind = firstOfOrder(row.order) and 1 or 0
    call('ZADD', O, 0, orderAs(row))
  end
  if row.behind == 1 then row.due = NAN else row.due = warm(row).turn end
end
-- Before the first token of a script. A server that has taken over may lack the last writes of the one before: tokens
-- that those have given are not given again (S4).
local isKnown
do --@ fresh
  isKnown = false
end
local function knowHistory()
  if isKnown then return end
  isKnown = true
  local history = string.match(call('INFO', 'replication'), 'master_replid:(%x+)') or ''
  if history == S.history then return end
  if S.history ~= '' then S.token = max(S.token + LEAP, math.floor(now) * TOKENS_A_MS) end
  S.history = history
end

local function startLease(row, owner, forMs)
  knowHistory()
  become(row, IN_FLIGHT)
  row.due = NAN
  row.attempt = row.attempt + 1
  if row.first ~= row.first then row.first = now end
  row.owner = owner
  S.token = S.token + 1
  row.token, row.leaseUntil = S.token, now + forMs
  local lane = lanes[row.lane]
  lane.heldUntil = -huge
  if not everyone then
    S.served = S.served + 1
    lane.served = S.served
  elseif lane.pending > 0 then
    takeTag(lane)
  end
  save(row)
  hint('l', row.id)
end
