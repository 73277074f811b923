-- How a task passes from one status to another: the only place that changes counters, leases and turns in an order.

-- Whether the body of a task with this status takes room: a dead letter may be sent again.
local TAKES_ROOM = { [0] = true, true, false, true, false }

-- Counts `by` tasks like this one more, or fewer.
local function count(row, by)
  local lane, status = laneOf(row), row.status
  local counter = COUNTER[status]
  S[counter] = S[counter] + by
  if TAKES_ROOM[status] then S.bytes = S.bytes + by * row.bodyBytes end
  if status == EXHAUSTED then lane.dead = lane.dead + by end
  if status <= IN_FLIGHT and row.aside == 0 then lane[counter] = lane[counter] + by end
  touch(lane)
end

-- `count` of what it was and of what it becomes, as one.
local function become(row, status)
  local lane, before = lanes[row.lane] or laneOf(row), row.status
  local from, to = COUNTER[before], COUNTER[status]
  S[from], row.status = S[from] - 1, status
  S[to] = S[to] + 1
  touched[lane.no] = lane
  if before <= IN_FLIGHT and row.aside == 0 then lane[from] = lane[from] - 1 end
  if status <= IN_FLIGHT and row.aside == 0 then lane[to] = lane[to] + 1 end
  if TAKES_ROOM[before] ~= TAKES_ROOM[status] then S.bytes = S.bytes + (TAKES_ROOM[status] and 1 or -1) * row.bodyBytes end
  if before == EXHAUSTED then lane.dead = lane.dead - 1 end
  if status == EXHAUSTED then lane.dead = lane.dead + 1 end
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

-- What the store itself has decided; `notedFrom` in codec.ts makes a line of it.
local function note(row, kind, reason)
  keepLog(row, pack('>I4d', row.attempt, now - S.offset) .. kind .. ' ' .. reason, false)
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
-- Gives the first of an order its own due time, if others were before it until now.
local function passOn(row)
  if row.order == NONE then return end
  call('ZREM', O, orderAs(row))
  local rowNext = firstOfOrder(row.order)
  if not rowNext or rowNext.behind == 0 or rowNext.aside == 1 then return end
  rowNext.behind = 0
  if rowNext.parked == 0 then rowNext.due = max(warm(rowNext).turn, now) end
  save(rowNext)
  hint('d')
end

-- Before the first token of a script. A server that has taken over may lack the last writes of the one before: tokens
-- that those have given are not given again (S4).
local isKnown = false
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
  S.served = S.served + 1
  lane.served, lane.heldUntil = S.served, -huge
  save(row)
  hint('l', row.id)
end

local function dropLease(row)
  row.owner = ''
  row.leaseUntil = NAN
  row.asked = 0
end

local function putBack(row, due)
  become(row, PENDING)
  dropLease(row)
  row.due = due
  save(row)
  hint('s', row.id)
  hint('d')
end

local function dropKey(row)
  local key = warm(row).key
  if key == NONE then return end
  local tag, others = laneOf(row).tag, {}
  for _, keeper in ipairs(keepersFrom(keepersOf(key))) do
    if keeper.tag ~= tag or keeper.id ~= row.id then others[#others + 1] = keeperAs(keeper.tag, keeper.id) end
  end
  keepKeepers(key, concat(others))
end

local function endTask(row, status, reason)
  local wasLive = isLive(row)
  become(row, status)
  dropLease(row)
  row.reason, row.due, row.parked, row.behind, row.ended = reason or '', NAN, 0, 0, now
  -- a dead letter may be sent again, other tasks may not: what may not be sent is not kept
  if status ~= EXHAUSTED then
    remove(E, row.id)
    if row.bodyBytes > SMALL_BODY then remove(B, row.id) end
    row.bodyBytes = 0
  end
  if status == CANCELLED then dropKey(row) end
  save(row)
  hint('s', row.id)
  if wasLive and row.order ~= NONE then passOn(row) end
end

local function endUnasked(row, reason)
  if reason then
    note(row, 'exhausted', reason)
    endTask(row, EXHAUSTED, reason)
  else
    note(row, 'cancelled', '')
    endTask(row, CANCELLED)
  end
end

-- Keeps a record that cannot be read where it is, and out of everything that acts. A later version's keeps its key and
-- its place in its order; one that is damaged has neither.
local found = { unreadable = 0 }
local function setAside(row, isDamaged)
  if row.aside == 1 then return end
  if row.status == IN_FLIGHT then
    become(row, PENDING)
    dropLease(row)
    row.attempt = row.attempt - 1
    hint('s', row.id)
  end
  if isLive(row) then
    laneOf(row).pending = laneOf(row).pending - 1
    touch(laneOf(row))
  end
  row.aside = 1
  warm(row).damaged = isDamaged and 1 or 0
  row.due = NAN
  S.unreadable = S.unreadable + 1
  if row.status == PENDING then S.pendingAside = S.pendingAside + 1 end
  place(W, row.id, 0)
  save(row)
  found.unreadable = found.unreadable + 1
  if not isDamaged then return end
  dropKey(row)
  passOn(row)
end

local function erase(row)
  local wasLive = isLive(row)
  count(row, -1)
  if row.aside == 1 then
    S.unreadable = S.unreadable - 1
    if row.status == PENDING then S.pendingAside = S.pendingAside - 1 end
  end
  S.purged = S.purged + 1
  local lane = laneOf(row)
  lane.tasks = lane.tasks - 1
  if wasLive then countHome(row, -1) end
  if row.status ~= CANCELLED then dropKey(row) end
  row.gone = true
  save(row)
  rows[row.id] = false
  if not wasLive then return hint('l') end
  hint('s', row.id)
  passOn(row)
end
