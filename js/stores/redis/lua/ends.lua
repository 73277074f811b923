-- How a task's lease, its life and its place among readable ones end: what takes new tasks needs none of it.

-- What the store itself has decided; `notedFrom` in codec.ts makes a line of it.
local function note(row, kind, reason)
  keepLog(row, pack('>I4d', row.attempt, now - S.offset) .. kind .. ' ' .. reason, false)
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
  if row.tells == TOLD then row.tells = TELLS end
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
local found
do --@ fresh
  found = { unreadable = 0 }
end
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
