-- Lanes: what a turn has to know of thousands of tasks without reading one of them.
--
-- A lane has a line for each home that its due tasks have (0: none). A line that may start a task stands in Q, in the
-- order of claims, or in U while its lane has no room; the lane stands in V by the next moment at which time alone
-- changes that. `restage` is the only place that decides where.
local lanes, touched, numbers, scopes, gained, endings, FORGET
do --@ fresh
  lanes, touched, numbers, scopes, gained, endings = {}, {}, {}, nil, {}, { [Dc] = {}, [Ec] = {} }
  FORGET = string.rep('\255', 16)
end
-- BY_ORIGIN, BY_PRINCIPAL: apart, in a line of its own (see limits.lua).
local QUEUED, FULL, BY_ORIGIN, BY_PRINCIPAL = 1, 2, 3, 4
local WAKES, FADES = 1, 2
-- Lines of one tag are one line: of a principal, or of everyone.

local function laneFrom(kept)
  local no, tag, tasks, pending, inFlight, dead, heldUntil, holdEndsBy, served, tat, tokenAt, moment, at, count, from =
    unpacked('>I4c16dddddddddBdI4', kept)
  local lines = {}
  for i = 1, count do
    local home, stage, rank, due, itsServed, itsInFlight
    home, stage, rank, due, itsServed, itsInFlight, from = unpacked('>I4BI5ddI4', kept, from)
    lines[i] = { home = home, stage = stage, rank = rank, due = due, served = itsServed, inFlight = itsInFlight }
  end
  return {
    no = no, tag = tag, line = tag ~= NONE and everyone or tag, name = sub(kept, from), tasks = tasks, pending = pending, inFlight = inFlight, dead = dead,
    heldUntil = heldUntil, holdEndsBy = holdEndsBy, served = served, tat = tat, tokenAt = tokenAt, moment = moment, at = at, lines = lines,
  }
end

local function laneText(lane)
  local parts = {
    pack('>I4c16dddddddddBdI4', lane.no, lane.tag, lane.tasks, lane.pending, lane.inFlight, lane.dead, lane.heldUntil,
      lane.holdEndsBy, lane.served, lane.tat, lane.tokenAt, lane.moment, lane.at, #lane.lines),
  }
  for _, line in ipairs(lane.lines) do
    parts[#parts + 1] = pack('>I4BI5ddI4', line.home, line.stage, line.rank, line.due, line.served, line.inFlight)
  end
  parts[#parts + 1] = lane.name
  return concat(parts)
end

-- Whose a lane is: what follows its origin.
local function whoOf(lane)
  return string.match(lane.name, ' .*') or ''
end

-- How many of their tasks have ended since Dc and Ec were written, or have gone. Scores are negative: the principal that has most comes first, and of
-- those who have as many as each other the first by name.
local function countEnd(lane, status, by)
  local counts = endings[status == 3 and Dc or Ec]
  local who = whoOf(lane)
  counts[who] = (counts[who] or 0) + by
end
local function countEnds()
  for key, counts in pairs(endings) do
    for who, by in pairs(counts) do
      if by ~= 0 and tonumber(call('ZINCRBY', key, -by, who)) >= 0 then call('ZREM', key, who) end
      counts[who] = nil
    end
  end
end

local function loadLanes(numbers)
  local wanted, asked = {}, {}
  for _, no in ipairs(numbers) do
    if lanes[no] == nil then
      lanes[no] = false
      wanted[#wanted + 1] = no
      asked[#asked + 1] = pack('>I4', no)
    end
  end
  for from = 1, #asked, MOST do
    local found = call('HMGET', N, unpack(asked, from, min(#asked, from + MOST - 1)))
    for i = 1, #found do
      if found[i] then lanes[wanted[from + i - 1]] = laneFrom(found[i]) end
    end
  end
end

local function newLane(no, name, tag)
  local lane = {
    no = no, tag = tag, line = tag ~= NONE and everyone or tag, name = name, tasks = 0, pending = 0, inFlight = 0, dead = 0,
    heldUntil = -huge, holdEndsBy = -huge, served = 0, tat = -huge, tokenAt = -huge, moment = 0, at = 0, lines = {},
  }
  lanes[no] = lane
  return lane
end

local function laneOf(row)
  local no = row.lane
  if lanes[no] == nil then loadLanes({ no }) end
  -- other code has deleted it: its tasks go on without a name to be claimed by
  return lanes[no] or newLane(no, '', NONE)
end

local function laneNamed(name, tag)
  local no = numbers[name]
  if no == nil then
    local kept = call('HGET', L, name)
    no = kept and unpacked('>I4', kept)
  end
  if no then
    numbers[name] = no
    if lanes[no] == nil then loadLanes({ no }) end
    if lanes[no] then return lanes[no] end
  else
    S.laneNo = S.laneNo + 1
    no = S.laneNo
    numbers[name] = no
    keep(L, name, pack('>I4', no))
  end
  return newLane(no, name, tag)
end

local function touch(lane)
  touched[lane.no] = lane
end

-- Scopes that stand still, each a letter and a text as `scopeOf` in registry.ts has them.
-- Whether nothing of a lane may start; without a name: of all lanes.
local function isPaused(name)
  if S.layout < 3 then return false end
  if scopes == nil then
    scopes = {}
    for _, kept in ipairs(call('HVALS', F)) do scopes[sub(kept, 5, 4 + unpacked('>I4', kept))] = true end
    -- asked about each of thousands of lanes
    if not next(scopes) then scopes = false end
  end
  if not scopes then return false end
  if scopes.a or not name then return scopes.a end
  local origin, principal = string.match(name, '^([^ ]*)(.*)')
  return scopes['o' .. origin] or scopes['p' .. principal] or scopes['l' .. name]
end

-- Holds a lane as its server asked, for `maxHold` from the beginning of the hold at most. No time holds nothing.
local function holdLane(lane, askedMs)
  local forMs = min(askedMs, G.maxHold)
  if not (forMs > 0) then return end
  if lane.heldUntil > now then
    lane.heldUntil = max(lane.heldUntil, min(now + forMs, lane.holdEndsBy))
  elseif lane.heldUntil + CHANCE_MS <= now then
    lane.holdEndsBy = now + G.maxHold
    lane.heldUntil = now + forMs
  else
    return -- those who waited come first
  end
  touch(lane)
end

local function lineOf(lane, home)
  for _, line in ipairs(lane.lines) do
    if line.home == home then return line end
  end
  local line = { home = home, stage = 0, rank = 0, due = 0, served = 0, inFlight = 0 }
  lane.lines[#lane.lines + 1] = line
  return line
end

local function queuedAs(lane, line)
  local member = pack('>I5dd', line.rank, line.served, line.due) .. lane.name .. '\0' .. pack('>I4I4', line.home, lane.no)
  if line.stage == FULL then return U, lane.line .. pack('>I4', line.inFlight) .. member end
  if line.stage == BY_ORIGIN then return Q, '\3' .. originOf(lane.name) .. '\0' .. member end
  if line.stage == BY_PRINCIPAL then return Q, '\4' .. lane.tag .. '\0' .. member end
  return Q, lane.line .. member
end

local function momentAs(lane)
  return (lane.moment == WAKES and lane.line or FORGET) .. pack('>d', lane.at) .. lane.name .. '\0' .. pack('>I4', lane.no)
end

local function firstIn(key, from, to)
  return call('ZRANGEBYLEX', key, from, to, 'LIMIT', 0, 1)[1]
end

-- The head of a line, as the rank and due time of the first task that is due; its first due time; its first that is to come.
local function look(lane, home)
  local prefix = pack('>I4I4', lane.no, home)
  local last = '(' .. pack('>I4I4', lane.no, home + 1)
  local rank, due
  local first, coming = huge, huge
  local member = firstIn(D, '[' .. prefix, last)
  while member do
    local itsRank, itsDue = unpacked('>I5d', member, 9)
    first = min(first, itsDue)
    local ranked = prefix .. pack('>I5', itsRank)
    if itsDue <= now then
      if not rank then
        rank, due = itsRank, itsDue
      end
      local later = firstIn(D, '(' .. ranked .. pack('>d', now) .. '\255', '(' .. prefix .. pack('>I5', itsRank + 1))
      if later then coming = min(coming, (unpacked('>d', later, 14))) end
    else
      coming = min(coming, itsDue)
    end
    member = S.ranked == 1 and firstIn(D, '[' .. prefix .. pack('>I5', itsRank + 1), last) or nil
  end
  return rank, due, first, coming
end

-- For everyone a place in Q is there once more, by the lane's origin, and Og has how many of these each origin has: where ten thousand
-- lanes of a few hundred origins are shut, a claim reads the names of the origins and not those of the lanes.
local function besideAs(lane, key, member)
  return key == Q and lane.line == everyone and string.byte(member) == 1 and '\2' .. originOf(lane.name) .. '\0' .. member
end

-- Writes how many places each origin has won, or lost, since Og was written.
local function countOrigins()
  local origins = gained
  gained = {}
  for origin, by in pairs(origins) do
    if by ~= 0 and call('HINCRBY', Og, origin, by) <= 0 then call('HDEL', Og, origin) end
  end
end

local function restage(lane)
  local isOver = lane.tasks <= 0
  if isOver then lane.served = 0 end
  local free = max(lane.heldUntil, lane.tokenAt)
  local held = free > now
  local at, kept = huge, {}
  for _, line in ipairs(lane.lines) do
    local key, member
    if line.stage > 0 then key, member = queuedAs(lane, line) end
    local rank, due, first, coming = look(lane, line.home)
    line.stage = 0
    if rank and not held then
      line.stage = lane.inFlight >= S.perLane and FULL or lane.park or QUEUED
      line.rank, line.due, line.served, line.inFlight = rank, due, lane.served, line.stage == FULL and lane.inFlight or 0
    end
    at = min(at, held and max(first, free) or coming)
    local newKey, newMember
    if line.stage > 0 then newKey, newMember = queuedAs(lane, line) end
    if newMember ~= member or newKey ~= key then
      local beside, newBeside = besideAs(lane, key, member), besideAs(lane, newKey, newMember)
      if member then unplace(key, member) end
      if beside then unplace(Q, beside) end
      if newMember then place(newKey, newMember, 0) end
      if newBeside then place(Q, newBeside, 0) end
      if not beside ~= not newBeside then
        local origin = originOf(lane.name)
        gained[origin] = (gained[origin] or 0) + (newBeside and 1 or -1)
      end
    end
    if first < huge or rank then kept[#kept + 1] = line end
  end
  lane.lines = kept
  local moment = 0
  -- a lane without tasks is kept for its hold and its tokens, and for those of its origin: who forgets it forgets them
  local last = isOver and max(lane.heldUntil + CHANCE_MS, lane.tat, everyone and shareOf(originOf(lane.name))[TAT] or 0) or 0
  if last > now then
    moment, at = FADES, last
  elseif at < huge then
    moment = WAKES
  end
  if moment == 0 then at = 0 end
  if moment ~= lane.moment or at ~= lane.at then
    if lane.moment > 0 then unplace(V, momentAs(lane)) end
    lane.moment, lane.at = moment, at
    if moment > 0 then place(V, momentAs(lane), 0) end
  end
  local no = pack('>I4', lane.no)
  if isOver and moment == 0 then
    remove(N, no)
    keep(L, lane.name, false)
    if everyone then
      moreOf(originOf(lane.name))
      moreOf(lane.tag)
    end
    lanes[lane.no] = nil
    numbers[lane.name] = nil
  else
    put(N, no, laneText(lane))
  end
end
