-- The work of time alone: retention, leases that ran out, deadlines. Each is bounded by SWEEP.
local ended = {}

-- At most `most` tasks that ended before `before`, or the `surplus` that ended first; of those that ended at once, those that
-- were enqueued first.
local function oldest(key, surplus, before, most)
  local last = '(' .. string.format('%.17g', before)
  local count = min(most, max(surplus, call('ZCOUNT', key, '-inf', last)))
  if count <= 0 then return {} end
  local list = call('ZRANGE', key, 0, count)
  -- one more is there: those that ended at its moment are looked at, if some of them are among the first
  local latest = list[count + 1] and call('ZSCORE', key, list[count + 1])
  if latest and call('ZSCORE', key, list[count]) == latest then
    list = call('ZRANGEBYSCORE', key, '-inf', latest, 'LIMIT', 0, count + SWEEP)
  else
    list[count + 1] = nil
  end
  load(list)
  local found = {}
  for _, id in ipairs(list) do found[#found + 1] = rowOf(id) end
  if #found > count then
    table.sort(found, function(rowA, rowB)
      if rowA.ended ~= rowB.ended then return rowA.ended < rowB.ended end
      return rowA.seq < rowB.seq
    end)
    for i = count + 1, #found do found[i] = nil end
  end
  return found
end

-- Deletes what is past its retention; says how many of it were dead letters.
local function retain()
  local others, dead = S.succeeded + S.cancelled, S.exhausted
  local first = others > 0 and oldest(X, others - G.maxTerminal, now - G.terminalMs, SWEEP) or {}
  local letters = dead > 0 and #first < SWEEP and oldest(Y, dead - G.maxDead, now - G.deadMs, SWEEP - #first) or {}
  local keys = {}
  for _, row in ipairs(first) do keys[#keys + 1] = warm(row).key end
  for _, row in ipairs(letters) do keys[#keys + 1] = warm(row).key end
  loadKeepers(keys)
  for _, row in ipairs(first) do erase(row) end
  for _, row in ipairs(letters) do erase(row) end
  return #letters
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

-- Leases by rising token, then deadlines, the earliest first. True: there may be more.
local function endOverdue()
  flush()
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
