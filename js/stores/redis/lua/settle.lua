-- Settling and renewing: what a lease permits. Tokens only rise, so a stale one is told by being another one.
local APPLIED, REPEATED, STALE, WAS_CANCELLED, GONE = 0, 1, 2, 3, 4
local TO_SUCCEEDED, TO_RETRY, TO_EXHAUSTED, TO_RELEASE = 0, 1, 2, 3
local CALLERS_ENDS
local REFUND, PARK, CARRY, SENT, SAYS_CANCELLED, OFFLINE = 1, 2, 4, 8, 16, 32
-- Where a packed settlement has the length of its id, and the id.
local SETTLED_BYTES, SETTLED_ID = 55, 59

local band
do --@ fresh
  band, CALLERS_ENDS = bit.band, { wait_exceeded = true, circuit_open = true, closed = true }
end

local function waitAgain(row, kind, flags, delay, server, phase, previous, marks)
  warm(row)
  if kind == TO_RETRY then
    row.delay = delay
  elseif band(flags, REFUND) ~= 0 and (band(flags, OFFLINE) ~= 0 or row.refunds < MOST_REFUNDS) then
    if band(flags, OFFLINE) == 0 then row.refunds = row.refunds + 1 end
    row.attempt = row.attempt - 1
  end
  if band(flags, CARRY) ~= 0 then row.phase, row.delay, row.marks = phase, previous, bit.bor(marks, band(row.marks, MARK_ACCEPTED)) end
  local isParked = band(flags, PARK) ~= 0
  row.parked = isParked and 1 or 0
  row.turn = now + delay
  row.server = now + server
  putBack(row, isParked and NAN or row.turn)
end

-- `packed` as `settlementBytes` in turn.ts has it.
local function settle(packed, log)
  local token, kind, flags, delay, server, phase, previous, marks, hold, bytes, at = unpacked('>dBBddddI4dI4', packed)
  local row = rows[sub(packed, at, at + bytes - 1)]
  if not row or row.aside == 1 or row.schema > G.schema then return GONE end
  local status = row.status
  if status == CANCELLED then return WAS_CANCELLED end
  local succeeded = kind == TO_SUCCEEDED
  if row.settledToken == token or (succeeded and status == SUCCEEDED) then return REPEATED end
  if not succeeded and (status ~= IN_FLIGHT or row.token ~= token) then return STALE end
  local isCancelled = row.asked == 1 and not succeeded
  keepLog(row, log, band(flags, SENT) ~= 0)
  row.settledToken = token
  if hold > 0 then holdLane(laneOf(row), hold) end
  if succeeded then
    endTask(row, SUCCEEDED)
  elseif isCancelled then
    if band(flags, SAYS_CANCELLED) ~= 0 then endTask(row, CANCELLED) else endUnasked(row) end
    return WAS_CANCELLED
  elseif kind == TO_EXHAUSTED and CALLERS_ENDS[sub(packed, at + bytes)] and isAccepted(row) then
    waitAgain(row, TO_RELEASE, 0, 0, 0)
    return STALE
  elseif kind == TO_EXHAUSTED then
    if marks ~= 0 then row.marks = bit.bor(warm(row).marks, marks) end
    endTask(row, EXHAUSTED, sub(packed, at + bytes))
  else
    waitAgain(row, kind, flags, delay, server, phase, previous, marks)
  end
  return APPLIED
end

local RENEWED, LOST, ASKED_FOR = 0, 1, 2
local function renew(packed)
  local token, forMs, at = unpacked('>dd', packed)
  local row = rowOf(sub(packed, at))
  if not row or row.status ~= IN_FLIGHT or row.token ~= token then return LOST end
  row.leaseUntil = now + forMs
  save(row)
  return row.asked == 1 and ASKED_FOR or RENEWED
end
