-- Tasks: a row holds what changes of one. Its places in the sorted sets follow from it, so that no change can forget one.
--
-- A row is a list and `row.name` an index of it. In the order of this list; those from `layout` to `log` are packed as ROW says. What is seldom needed lies
-- in `cold`, as bytes: `warm` unpacks it into the fields from `turn` on.
--@ row: id text0 at0 end0 parked0 ended0 seq0 due0 status0 gone changed text layout status aside asked parked behind tells schema lane home rank due seq deadline first token settledToken leaseUntil ended most attempt bodyBytes logged noted order cold owner homeName reason log after turn server created phase delay refunds marks why repeats damaged key
local PENDING, IN_FLIGHT, SUCCEEDED, EXHAUSTED, CANCELLED = 0, 1, 2, 3, 4
local COUNTER = { [0] = index(S.pending), index(S.inFlight), index(S.succeeded), index(S.exhausted), index(S.cancelled) }
local LANES_OWN = { [0] = 'pending', 'inFlight' }
local REASONS = { [0] = 'total_budget', 'expired', 'key_expired' }
local ROW, COLD = '>BBBBBBBI2I4I4I5dddddddddI4I4I4I4c16c67ssss', '>dddddI4I4BBBc16'
local SMALLEST = 197
-- Of a row as it is kept: its place among due tasks (lane, home, rank, due, seq).
local PLACE_FROM, PLACE_TO = 10, 38

local rows, changed, homes, ENDED_OWN
do --@ fresh
  rows, changed, homes, ENDED_OWN = {}, {}, nil, { [X] = '\5', [Y] = '\6' }
end

-- What becomes of its end, in a store for everyone: it is to be told, and until then is passed over by retention; or it was told.
local TELLS, TOLD = 1, 2

-- Where a row stands: by its next moment, among those that have ended, among those that are parked.
local function placesOf(row)
  local status = row.status
  if status == IN_FLIGHT then return row.leaseUntil, false, false end
  if status ~= PENDING then
    if row.tells == TELLS and S.layout % 2 == 0 then return false, Un, false end
    return false, status == EXHAUSTED and Y or X, false
  end
  if row.aside == 1 then return false, false, false end
  return row.deadline < huge and row.deadline + 1, false, row.parked == 1 and pack('>I4d', row.lane, row.seq) .. row.id
end

-- The row that is kept so; nil: it is none of ours.
local function rowFrom(id, kept)
  if not kept or #kept < SMALLEST then return nil end
  local row = { id, kept, false, false, false, false, false, false, false, false, false, false, unpacked(ROW, kept) }
  local status = row.status
  row.status0 = status
  -- a due task has its place by `text0` until `due0` has it
  if status ~= PENDING or row.aside == 1 or row.due ~= row.due then row.text0 = false end
  row.at0, row.end0, row.parked0 = placesOf(row)
  row.ended0, row.seq0 = row.ended, row.seq
  return row
end

local function warm(row)
  if row.turn then return row end
  row.turn, row.server, row.created, row.phase, row.delay, row.refunds, row.marks, row.why, row.repeats, row.damaged, row.key =
    unpacked(COLD, row.cold)
  return row
end

local function rowText(row)
  if row.turn then row.cold = pack(COLD, unpack(row, index(row.turn), index(row.key))) end
  return pack(ROW, unpack(row, index(row.layout), index(row.log)))
end

local function load(ids)
  local wanted = {}
  for i = 1, #ids do
    local id = ids[i]
    if rows[id] == nil then
      rows[id] = false
      wanted[#wanted + 1] = id
    end
  end
  for from = 1, #wanted, MOST do
    local found = call('HMGET', T, unpack(wanted, from, min(#wanted, from + MOST - 1)))
    for i = 1, #found do
      local id = wanted[from + i - 1]
      if found[i] then rows[id] = rowFrom(id, found[i]) or false end
    end
  end
end

local function rowOf(id)
  if rows[id] == nil then load({ id }) end
  return rows[id] or nil
end

local function save(row)
  if row.changed then return end
  row.changed = true
  changed[#changed + 1] = row
end

local function isLive(row)
  return row.status <= IN_FLIGHT
end
local function isReadable(row)
  return row.schema <= G.schema
end
-- Whether another call than that of its caller has enqueued it.
local function isAccepted(row)
  return bit.band(warm(row).marks, MARK_ACCEPTED) ~= 0
end
local function isSpent(row)
  return row.attempt >= row.most
end
local function isLate(row)
  return now > row.deadline
end

-- Its place among due tasks, as it was when it was written last.
local function due0Of(row)
  return row.due0 or (row.text0 and sub(row.text0, PLACE_FROM, PLACE_TO) .. row.id)
end

-- In Ls, which lists read, stand by id: all tasks of a principal; its dead letters; all dead letters; and what was cancelled, by its
-- key, which it does not keep. And by principal and by when they ended: what has succeeded or was cancelled, and dead letters, but for
-- those whose end is to be told.
local OWN, OWN_DEAD, DEAD, CANCELLED_KEY = '\1', '\2', '\3', '\4'
local function enlist(row, status, by)
  local id = row.id
  if status == EXHAUSTED then
    by(Ls, OWN_DEAD .. laneOf(row).tag .. id, 0)
    by(Ls, DEAD .. id, 0)
  elseif status == CANCELLED and warm(row).key ~= NONE then
    by(Ls, CANCELLED_KEY .. row.key .. laneOf(row).tag .. id, 0)
  end
end

local function endedAs(row, key, ended, seq)
  return ENDED_OWN[key] .. whoOf(laneOf(row)) .. '\0' .. pack('>dd', ended, seq) .. row.id
end

-- Takes the row from all places.
local function erasePlaces(row)
  local id, due0 = row.id, due0Of(row)
  remove(T, id)
  remove(R, id)
  -- what has succeeded, or was cancelled, has neither headers nor a body any more
  if row.end0 ~= X then
    remove(E, id)
    remove(B, id)
  end
  unplace(I, id)
  unplace(Ls, OWN .. laneOf(row).tag .. id)
  enlist(row, row.status0, unplace)
  if row.aside == 1 then unplace(W, id) end
  -- the youngest attempt is a part of the row
  for n = max(1, row.logged - LOG_LENGTH + 1), row.logged - 1 do remove(A, id .. pack('>i4', n)) end
  for n = max(1, row.noted - NOTES_LENGTH + 1), row.noted do remove(A, id .. pack('>i4', -n)) end
  if due0 then
    touch(laneOf(row))
    unplace(D, due0)
  end
  if row.at0 then unplace(Z, id) end
  if row.end0 then unplace(row.end0, id) end
  if ENDED_OWN[row.end0] then unplace(Ls, endedAs(row, row.end0, row.ended0, row.seq0)) end
  if row.parked0 then unplace(P, row.parked0) end
end

-- Puts the row where it belongs, and takes it from where it was.
local function settlePlaces(row)
  row.changed = false
  if row.gone then return erasePlaces(row) end
  local id, text, due0 = row.id, rowText(row), due0Of(row)
  put(T, id, text)
  local due = row.status == PENDING and row.aside == 0 and row.due == row.due and sub(text, PLACE_FROM, PLACE_TO) .. id
  if due ~= due0 then
    local lane = lanes[row.lane] or laneOf(row)
    touched[lane.no] = lane
    if due0 then unplace(D, due0) end
    if due then
      lineOf(lane, row.home)
      place(D, due, 0)
      if row.rank ~= 2 ^ 32 then S.ranked = 1 end
    end
  end
  row.text0, row.due0, row.text = false, due, text
  if row.status ~= row.status0 then
    if not row.status0 then place(Ls, OWN .. laneOf(row).tag .. id, 0) end
    enlist(row, row.status0, unplace)
    enlist(row, row.status, place)
    row.status0 = row.status
  end
  local at, ended, parked = placesOf(row)
  if at ~= row.at0 then
    if at then place(Z, id, at) else unplace(Z, id) end
    row.at0 = at
  end
  if ended ~= row.end0 or (ended and row.ended ~= row.ended0) then
    if row.end0 and row.end0 ~= ended then unplace(row.end0, id) end
    if ended then place(ended, id, row.ended) end
    if ENDED_OWN[row.end0] then unplace(Ls, endedAs(row, row.end0, row.ended0, row.seq0)) end
    if ENDED_OWN[ended] then place(Ls, endedAs(row, ended, row.ended, row.seq), 0) end
    row.end0, row.ended0, row.seq0 = ended, row.ended, row.seq
  end
  if parked ~= row.parked0 then
    if row.parked0 then unplace(P, row.parked0) end
    if parked then place(P, parked, 0) end
    row.parked0 = parked
  end
end

-- Writes what has changed, so that due tasks and lanes can be asked for.
local function flush()
  local list = changed
  changed = {}
  for i = 1, #list do settlePlaces(list[i]) end
  write()
  local moved = touched
  touched = {}
  for _, lane in pairs(moved) do restage(lane) end
  write()
  countOrigins()
end

local function finish()
  flush()
  countEnds()
  if everyone then writeShares() end
  S.highWater = now
  call('SET', M, pack(STATE, unpack(S, 1, index(S.born))) .. S.history)
  if #hints > 0 then call('SPUBLISH', sub(M, 1, -2) .. 'h', G.sender .. concat(hints)) end
end

-- Homes that tasks have, by name: a number, and how many tasks have it.
local function loadHomes()
  if homes then return end
  homes = {}
  local found = call('HGETALL', J)
  for i = 1, #found, 2 do
    local no, tasks = unpacked('>I4d', found[i + 1])
    homes[found[i]] = { no = no, tasks = tasks }
  end
end
local function countHome(row, by)
  local name = row.homeName
  if name == '' then return end
  loadHomes()
  local home = homes[name]
  if not home then
    S.homeNo = S.homeNo + 1
    home = { no = S.homeNo, tasks = 0 }
    homes[name] = home
  end
  row.home = home.no
  home.tasks = home.tasks + by
  if home.tasks > 0 then
    keep(J, name, pack('>I4d', home.no, home.tasks))
  else
    homes[name] = nil
    keep(J, name, false)
  end
end
