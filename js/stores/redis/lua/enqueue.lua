-- Takes tasks: dedupe, then room, then the row.
--
-- ARGV: head; counts of records and batches; a tag of each record that the tasks name; then of each batch its own head with
-- the owner of its lease, and of each of its tasks: fixed part and id, lane, home, record, headers with a small body, large body,
-- and each log with a byte that says whether it was sent.
-- Answer: state, a packed answer for each batch and task, hints. 'REDRIVE_RECORDS': a record of a tag is not here.
local records, batches = unpacked('>I4I4', arg())
if records > 0 then
  local tags = {}
  for i = 1, records do tags[i] = arg() end
  for _, text in ipairs(call('HMGET', C, unpack(tags))) do
    if not text then return redis.error_reply('REDRIVE_RECORDS') end
  end
end

local wanted = {}
local ids, keys = {}, {}
for b = 1, batches do
  local batch = { tasks = {} }
  local head = arg()
  local many, at
  many, batch.leases, batch.leaseMs, batch.total, batch.perLane, at = unpacked('>I4Bddd', head)
  batch.owner = sub(head, at)
  for t = 1, many do
    local fixed = arg()
    local schema, repeats, why, rank, dueIn, server, age, deadlineIn, attempt, most, phase, delay, marks, bodyBytes, hold, logs, key, order, tag, idAt =
      unpacked('>I2BBI5ddddI4dddI4I4dI4c16c16c16', fixed)
    local task = {
      schema = schema, repeats = repeats, why = why, rank = rank, dueIn = dueIn, server = server, age = age,
      deadlineIn = deadlineIn, attempt = attempt, most = most, phase = phase, delay = delay, marks = marks,
      bodyBytes = bodyBytes, hold = hold, logs = logs, key = key, order = order, tag = tag, id = sub(fixed, idAt),
      lane = arg(), home = arg(), record = arg(), head = arg(), body = arg(),
    }
    for i = 1, logs do task[i] = arg() end
    batch.tasks[t] = task
    ids[#ids + 1] = task.id
    keys[#keys + 1] = key
  end
  wanted[b] = batch
end

load(ids)
loadKeepers(keys)

local STORED, DUPLICATE, CONFLICT, UNREADABLE, FULL_STORE = 0, 1, 2, 3, 4
local function answer(outcome, id, token, forMs)
  return pack('>BddI4', outcome, token or 0, forMs or 0, #id) .. id
end

local function keeperOf(task)
  if task.key == NONE then return nil end
  for _, keeper in ipairs(keepersOf(task.key)) do
    if keeper.tag == task.tag then return rowOf(keeper.id) end
  end
end

local prints = {}
local function printOf(id)
  if not prints[id] then prints[id] = sub(call('HGET', R, id) or '', 1, 16) end
  return prints[id]
end

local function startsNow(row, task, batch)
  local lane = laneOf(row)
  return batch.leases == 1 and row.behind == 0 and task.dueIn <= 0 and isReadable(row) and not isLate(row) and not isSpent(row)
    and not isHeld(lane) and S.inFlight < batch.total and lane.inFlight < batch.perLane
end

local function take(task, batch)
  local rowSame = rowOf(task.id)
  if rowSame then
    local isHis = batch.leases == 1 and rowSame.status == IN_FLIGHT and rowSame.owner == batch.owner and rowSame.leaseUntil > now
    if isHis then return answer(DUPLICATE, rowSame.id, rowSame.token, rowSame.leaseUntil - now) end
    return answer(DUPLICATE, rowSame.id)
  end
  local rowKeeper = keeperOf(task)
  if rowKeeper then
    if not isReadable(rowKeeper) then return answer(UNREADABLE, rowKeeper.id) end
    return answer(printOf(rowKeeper.id) == sub(task.record, 1, 16) and DUPLICATE or CONFLICT, rowKeeper.id)
  end
  if S.pending + S.inFlight + S.exhausted >= G.capacity or S.bytes + task.bodyBytes > G.capacityBytes then
    return answer(FULL_STORE, task.id)
  end
  S.seq = S.seq + 1
  local lane = laneNamed(task.lane, task.tag)
  -- as rows.lua names its fields
  local row = {
    task.id, false, false, false, false, NAN, false, false, false, false,
    1, PENDING, 0, 0, 0, 0, task.schema, lane.no, 0, task.rank, NAN, S.seq, now + task.deadlineIn,
    task.attempt > 0 and now - task.age or NAN, 0, NAN, NAN, NAN, task.most, task.attempt, task.bodyBytes, 0, 0, task.order, '', '',
    task.home, '', '', 0, now + max(0, task.dueIn), now + task.server, now - S.offset - task.age, task.phase, task.delay, 0, task.marks,
    task.why, task.repeats, 0, task.key,
  }
  rows[row.id] = row
  prints[row.id] = sub(task.record, 1, 16)
  lineUp(row)
  lane.tasks = lane.tasks + 1
  count(row, 1)
  countHome(row, 1)
  if task.key ~= NONE then
    local list = keepersOf(task.key)
    list[#list + 1] = { tag = task.tag, id = row.id }
    keepKeepers(task.key)
  end
  put(R, row.id, task.record)
  put(E, row.id, task.head)
  if task.body ~= '' then put(B, row.id, task.body) end
  place(I, row.id, 0)
  save(row)
  holdLane(lane, task.hold)
  for i = 1, task.logs do keepLog(row, sub(task[i], 2), sub(task[i], 1, 1) == '\1') end
  if startsNow(row, task, batch) then
    startLease(row, batch.owner, batch.leaseMs)
    return answer(STORED, row.id, row.token, batch.leaseMs)
  end
  hint('d')
  return answer(STORED, row.id)
end

local answers = {}
for b, batch in ipairs(wanted) do
  local said = {}
  for t, task in ipairs(batch.tasks) do said[t] = take(task, batch) end
  answers[b] = said
end
finish()
return { pack('>d', S.offset), answers, concat(hints) }
