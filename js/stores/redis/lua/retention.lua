-- What goes by its age, by its number, or since there is no more room. Each is bounded by SWEEP.
-- At most `most` tasks that ended before `before`; of those that ended at once, those that were enqueued first.
local function agedOf(key, before, most)
  local last = '(' .. string.format('%.17g', before)
  local count = min(most, call('ZCOUNT', key, '-inf', last))
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

-- The oldest `count` of one principal, but for the first `after`.
local function oldestOf(who, key, count, after)
  local from = ENDED_OWN[key] .. who
  local list = call('ZRANGEBYLEX', Ls, '[' .. from .. '\0', '(' .. from .. '\1', 'LIMIT', after, count)
  for i, member in ipairs(list) do list[i] = sub(member, #from + 18) end
  load(list)
  return list
end

-- Adds to `found`, up to `total`, of those that have ended the oldest of the principal that has most, one by one.
local function addSurplus(found, key, counts, total)
  local gone, owners = {}, {}
  for _, row in ipairs(found) do
    local who = whoOf(laneOf(row))
    gone[who] = (gone[who] or 0) + 1
  end
  -- each that loses one is among so many, or of those before it none may be deleted
  local kept = call('ZRANGE', counts, 0, total + 63, 'WITHSCORES')
  for i = 1, #kept, 2 do
    owners[#owners + 1] = { name = kept[i], left = -tonumber(kept[i + 1]) - (gone[kept[i]] or 0), after = gone[kept[i]] or 0 }
  end
  while #found < total and #owners > 0 do
    for _, owner in ipairs(owners) do owner.lost = 0 end
    for _ = #found + 1, total do
      local first
      for _, owner in ipairs(owners) do
        if owner.left > 0 and (not first or owner.left > first.left or (owner.left == first.left and owner.name < first.name)) then
          first = owner
        end
      end
      if not first then break end
      first.left, first.lost = first.left - 1, first.lost + 1
    end
    local others = {}
    for _, owner in ipairs(owners) do
      local list = owner.lost > 0 and oldestOf(owner.name, key, owner.lost, owner.after) or {}
      for _, id in ipairs(list) do found[#found + 1] = rowOf(id) end
      owner.after = owner.after + #list
      -- the others may not be deleted
      if #list == owner.lost and owner.left > 0 then others[#others + 1] = owner end
    end
    owners = others
  end
end

local function outlivedOf(key, counts, surplus, before, most)
  local found = agedOf(key, before, most)
  local total = min(surplus, most)
  if #found < total then addSurplus(found, key, counts, total) end
  return found
end

-- Deletes up to so many that have succeeded or were cancelled, though none is past its retention. Says how many.
local function giveWay(count)
  local list, keys = outlivedOf(X, Ec, count, -huge, count), {}
  for _, row in ipairs(list) do keys[#keys + 1] = warm(row).key end
  loadKeepers(keys)
  for _, row in ipairs(list) do erase(row) end
  return #list
end

-- Deletes what is past its retention; gives the dead letters among it, each its lane and its id.
local function retain()
  local others, dead = S.succeeded + S.cancelled, S.exhausted
  local mostEnded = max(0, min(G.maxTerminal, math.floor((G.capacityBytes - S.bytes) / ENDED_BYTES)))
  local first = others > 0 and outlivedOf(X, Ec, others - mostEnded, now - G.terminalMs, SWEEP) or {}
  local letters = dead > 0 and #first < SWEEP and outlivedOf(Y, Dc, dead - G.maxDead, now - G.deadMs, SWEEP - #first) or {}
  local keys, trimmed = {}, {}
  for _, row in ipairs(first) do keys[#keys + 1] = warm(row).key end
  for _, row in ipairs(letters) do
    keys[#keys + 1] = warm(row).key
    trimmed[#trimmed + 1] = laneOf(row).name
    trimmed[#trimmed + 1] = row.id
  end
  loadKeepers(keys)
  for _, row in ipairs(first) do erase(row) end
  for _, row in ipairs(letters) do erase(row) end
  return trimmed
end
