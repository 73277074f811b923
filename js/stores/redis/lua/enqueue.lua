-- Takes tasks: dedupe, then room, then the row.
--
-- ARGV: head; counts of records, batches and quotas; a tag of each record that the tasks name; of each principal with a quota its tag,
-- and how many tasks and bytes it may have; then of each batch its own head with
-- the owner of its lease, and of each of its tasks: fixed part and id, lane, home, record, headers with a small body, large body,
-- and each log with a byte that says whether it was sent.
-- Answer: state, a packed answer for each batch and task, hints. 'REDRIVE_RECORDS': a record of a tag is not here.

-- A task's fixed part, and where it has the count of logs, with the key behind it, and the id.
local FIXED, LOGS_AT, ID_AT = '>I2BBBI5ddddI4dddI4I4dI4c16c16c16', 87, 139
-- `quotaOf`: the room of each principal that has a quota, by its tag. `prints`: the first bytes of records that were compared, by the id of their task.
local quotaOf, prints
do --@ fresh
  quotaOf, prints = {}, {}
end

local STORED, DUPLICATE, CONFLICT, UNREADABLE, FULL_STORE, OVER_QUOTA = 0, 1, 2, 3, 4, 5
local function answer(outcome, id, token, forMs)
  return pack('>BddI4', outcome, token or 0, forMs or 0, #id) .. id
end

local function keeperOf(key, tag)
  if key == NONE then return nil end
  for _, keeper in ipairs(keepersFrom(keepersOf(key))) do
    if keeper.tag == tag then return rowOf(keeper.id) end
  end
end

local function isProcess(home)
  return home ~= '' and sub(home, 1, #NEEDS) ~= NEEDS
end

local function startsNow(row, dueIn, batch)
  local lane = laneOf(row)
  return batch.leases == 1 and row.behind == 0 and dueIn <= 0 and isReadable(row) and not isLate(row) and not isSpent(row)
    and max(lane.heldUntil, lane.tokenAt) <= now and not isPaused(lane.name) and S.inFlight < batch.total and lane.inFlight < batch.perLane
end

-- The task whose arguments begin there.
local function take(at, batch)
  local schema, repeats, why, tells, rank, dueIn, server, age, deadlineIn, attempt, most, phase, delay, marks, bodyBytes, hold, logs, key, order, tag, idAt =
    unpacked(FIXED, ARGV[at])
  local id, record = sub(ARGV[at], idAt), ARGV[at + 3]
  local rowSame = rowOf(id)
  if rowSame then
    local isHis = batch.leases == 1 and rowSame.status == IN_FLIGHT and rowSame.owner == batch.owner and rowSame.leaseUntil > now
    if isHis then return answer(DUPLICATE, rowSame.id, rowSame.token, rowSame.leaseUntil - now) end
    return answer(DUPLICATE, rowSame.id)
  end
  local rowKeeper = keeperOf(key, tag)
  if rowKeeper then
    if not isReadable(rowKeeper) then return answer(UNREADABLE, rowKeeper.id) end
    prints[rowKeeper.id] = prints[rowKeeper.id] or sub(call('HGET', R, rowKeeper.id) or '', 1, 16)
    if prints[rowKeeper.id] ~= sub(record, 1, 16) then return answer(CONFLICT, rowKeeper.id) end
    if isLive(rowKeeper) and not isProcess(ARGV[at + 2]) and not isAccepted(rowKeeper) then
      rowKeeper.marks = rowKeeper.marks + MARK_ACCEPTED
      save(rowKeeper)
    end
    return answer(DUPLICATE, rowKeeper.id)
  end
  -- of one that is exempt it has 2 more
  local quota = everyone and tells < 2 and quotaOf[tag]
  if quota and (partOf(tag, HELD) >= quota[1] or partOf(tag, BYTES) + bodyBytes > quota[2]) then
    return answer(OVER_QUOTA, id)
  end
  if S.pending + S.inFlight + S.exhausted >= G.capacity or S.bytes + bodyBytes > G.capacityBytes then
    return answer(FULL_STORE, id)
  end
  S.seq = S.seq + 1
  local lane = laneNamed(ARGV[at + 1], tag)
  -- as rows.lua names its fields
  local row = {
    id, false, false, false, false, NAN, false, false, false, false, false, false,
    1, PENDING, 0, 0, 0, 0, tells % 2, schema, lane.no, 0, rank, NAN, S.seq, now + deadlineIn,
    attempt > 0 and now - age or NAN, 0, NAN, NAN, NAN, most, attempt, bodyBytes, 0, 0, order, '', '',
    ARGV[at + 2], '', '', 0, now + max(0, dueIn), now + server, now - S.offset - age, phase, delay, 0, marks,
    why, repeats, 0, key,
  }
  rows[id] = row
  prints[id] = sub(record, 1, 16)
  lineUp(row)
  lane.tasks = lane.tasks + 1
  count(row, 1)
  countHome(row, 1)
  if key ~= NONE then keepKeepers(key, keepersOf(key) .. keeperAs(tag, id)) end
  put(R, id, record)
  put(E, id, ARGV[at + 4])
  if ARGV[at + 5] ~= '' then put(B, id, ARGV[at + 5]) end
  place(I, id, 0)
  save(row)
  holdLane(lane, hold)
  for i = at + 6, at + 5 + logs do keepLog(row, sub(ARGV[i], 2), sub(ARGV[i], 1, 1) == '\1') end
  if startsNow(row, dueIn, batch) then
    startLease(row, batch.owner, batch.leaseMs)
    return answer(STORED, id, row.token, batch.leaseMs)
  end
  hint('d')
  return answer(STORED, id)
end

do --@ main
  local records, batches, quotas = unpacked('>I4I4I4', arg())
  if records > 0 then
    local tags = {}
    for i = 1, records do tags[i] = arg() end
    for _, text in ipairs(call('HMGET', C, unpack(tags))) do
      if not text then return redis.error_reply('REDRIVE_RECORDS') end
    end
  end

  for _ = 1, quotas do
    local tag, capacity, bytes = unpacked('>c16dd', arg())
    quotaOf[tag] = { capacity, bytes }
  end

  -- where each task of a batch begins among the arguments
  local wanted = {}
  local ids, keys = {}, {}
  for b = 1, batches do
    local batch = {}
    local many, at
    local head = arg()
    many, batch.leases, batch.leaseMs, batch.total, batch.perLane, at = unpacked('>I4Bddd', head)
    batch.owner = sub(head, at)
    for t = 1, many do
      local fixed = arg()
      batch[t] = given
      local logs, key = unpacked('>I4c16', fixed, LOGS_AT)
      ids[#ids + 1], keys[#keys + 1] = sub(fixed, ID_AT), key
      given = given + 5 + logs
    end
    wanted[b] = batch
  end

  load(ids)
  loadKeepers(keys)

  local answers = {}
  for b, batch in ipairs(wanted) do
    local said = {}
    for t, at in ipairs(batch) do said[t] = take(at, batch) end
    answers[b] = said
  end
  finish()
  return { pack('>d', S.offset), answers, concat(hints) }
end
