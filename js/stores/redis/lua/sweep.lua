-- The work of time alone but for retention: leases that ran out, deadlines. Each is bounded by SWEEP.
local ended
do --@ fresh
  ended = {}
end

local function collect(row)
  if row.ended == row.ended then ended[#ended + 1] = row.id end
end

-- Puts a task back whose lease is over, or ends it when nothing permits another attempt.
local function takeBack(row)
  warm(row)
  if row.asked == 1 then
    endUnasked(row)
  elseif isSpent(row) or isLate(row) or row.repeats == 0 then
    endUnasked(row, 'outcome_unknown')
  else
    note(row, 'lost', '')
    row.marks = bit.bor(row.marks, MARK_UNANSWERED)
    row.turn = now
    row.server = now
    putBack(row, now)
  end
  collect(row)
end

-- After a silence, leases that no process could renew last for the grace from now: all of them, since the next turn knows of none.
local function grantGrace(since, graceMs)
  if now - since < SILENCE_MS then return end
  local ids = call('ZRANGEBYSCORE', Z, string.format('(%.17g', since), string.format('%.17g', now))
  load(ids)
  for _, id in ipairs(ids) do
    local row = rowOf(id)
    if row and row.status == IN_FLIGHT then
      row.leaseUntil = now + graceMs
      save(row)
    end
  end
  flush()
end

-- Leases by rising token, then deadlines, the earliest first.
local function endOverdue(silentSince, graceMs)
  flush()
  grantGrace(silentSince, graceMs)
  local over = call('ZRANGEBYSCORE', Z, '-inf', string.format('%.17g', now), 'LIMIT', 0, 2 * SWEEP)
  local leased, late = {}, {}
  load(over)
  for _, id in ipairs(over) do
    local row = rowOf(id)
    local kind = row and (row.status == IN_FLIGHT and leased or late)
    if kind then kind[#kind + 1] = row end
  end
  table.sort(late, function(rowA, rowB)
    if rowA.deadline ~= rowB.deadline then return rowA.deadline < rowB.deadline end
    return rowA.seq < rowB.seq
  end)
  table.sort(leased, function(rowA, rowB) return rowA.token < rowB.token end)
  for i = 1, min(#leased, SWEEP) do takeBack(leased[i]) end
  for i = 1, min(#late, SWEEP) do
    local row = late[i]
    if row.status ~= PENDING then
      -- a lease that was over put it back, or its order ended it
    elseif isReadable(row) then
      endUnasked(row, REASONS[warm(row).why])
      collect(row)
    else
      setAside(row, false)
    end
  end
end
