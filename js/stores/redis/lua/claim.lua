-- Claiming what is due. Lanes are looked at in the order in which they are served, and no more of them than tasks may be
-- claimed; of each only the first tasks. Ten thousand lanes that wait, are held or have no room cost nothing.
local LEAST, UNTRIED = 1, 2

local function claimFrom()
  local c = { bounds = {}, skipped = {} }
  local packed = arg()
  local any, own, supplied, bounds, skips, needs, at, limits, perPrincipal
  c.limit, c.leaseMs, c.total, c.perLane, c.otherMax, any, own, supplied, bounds, skips, needs, limits, perPrincipal, c.tag =
    unpacked('>dddddBBBI4I4I4I4dc16', packed)
  c.own = own == 1
  c.isByOrigin = everyone and any == 1
  if any == 0 then c.otherMax = 0 end
  for _ = 1, bounds do
    local bound, max, mode = arg(), nil, nil
    max, mode, at = unpacked('>dB', bound)
    c.bounds[sub(bound, at)] = { max = max, left = max, mode = mode }
  end
  c.tag = everyone or c.tag
  c.isShut = isPaused() or (c.otherMax <= 0 and not next(c.bounds))
  for _ = 1, skips do c.skipped[arg()] = true end
  if supplied == 1 then
    c.supplied = {}
    for _ = 1, needs do c.supplied[arg()] = true end
  end
  readLimits(c, limits, perPrincipal)
  return c
end

-- The bound of what is paused.
local shut = { max = 0, left = 0, mode = 0 }
-- The bound of a lane, which it may share: for everyone `bounds` name origins. `left` is how much of `max` the claim has not taken yet.
local function boundFor(c, name)
  if isPaused(name) then return shut end
  if c.isByOrigin then name = originOf(name) end
  local bound = c.bounds[name]
  if not bound then
    bound = { max = c.otherMax, left = c.otherMax, mode = 0 }
    c.bounds[name] = bound
  end
  return bound
end

-- The homes whose tasks the claim may take, by number.
local function homesFor(c, owner)
  local takes = { [0] = not c.own }
  loadHomes()
  for name, home in pairs(homes) do
    local isNeeds = sub(name, 1, #NEEDS) == NEEDS
    takes[home.no] = name == owner or (not c.own and not c.skipped[name] and not (isNeeds and c.supplied and not c.supplied[name]))
  end
  return takes
end

-- The due tasks of one line, in the order of claims: a list of members of D. `at` is the next one, `cursor` where the next part begins.
local function feedOf(lane, home, count)
  local prefix = pack('>I4I4', lane.no, home)
  return { prefix = prefix, last = '(' .. pack('>I4I4', lane.no, home + 1), cursor = '[' .. prefix, count = count, at = 1, isOver = false }
end

local function readMore(feed)
  local ids, n = {}, #feed
  repeat
    local members = call('ZRANGEBYLEX', D, feed.cursor, feed.last, 'LIMIT', 0, feed.count)
    feed.isOver = #members < feed.count
    for i = 1, #members do
      local member = members[i]
      local rank, due = unpacked('>I5d', member, 9)
      if due > now then
        -- the other tasks of this rank are to come: those of the next may be due
        feed.isOver = S.ranked == 0
        feed.cursor = '[' .. feed.prefix .. pack('>I5', rank + 1)
        break
      end
      ids[#ids + 1] = sub(member, 30)
      n = n + 1
      feed[n] = member
      feed.cursor = '(' .. member
    end
  until feed.isOver or #ids > 0
  load(ids)
end

-- Whether one task comes before another of its lane, by their members of D: rank, then due time, then seq.
local function isBefore(a, b)
  local rank, due, seq = unpacked('>I5dd', a, 9)
  local otherRank, otherDue, otherSeq = unpacked('>I5dd', b, 9)
  if rank ~= otherRank then return rank < otherRank end
  if due ~= otherDue then return due < otherDue end
  return seq < otherSeq
end

-- The next task of a lane: its member of D, the feed that has it, and where it stands there.
local function nextOf(candidate)
  local best, from
  local feeds = candidate.feeds
  for i = 1, #feeds do
    local feed = feeds[i]
    while not feed[feed.at] and not feed.isOver do readMore(feed) end
    local member = feed[feed.at]
    if member and (not best or isBefore(member, best)) then best, from = member, feed end
  end
  return best, from, from and from.at
end

-- The one with the fewest attempts, of the first due tasks of the highest priority.
local function leastTried(candidate, isUntried)
  local first = nextOf(candidate)
  if not first then return nil end
  local looked = {}
  for _, feed in ipairs(candidate.feeds) do
    for i = feed.at, feed.at + LOOKED_AT - 1 do
      while not feed[i] and not feed.isOver do readMore(feed) end
      if not feed[i] or sub(feed[i], 9, 13) ~= sub(first, 9, 13) then break end
      looked[#looked + 1] = { member = feed[i], feed = feed, at = i }
    end
  end
  table.sort(looked, function(a, b) return isBefore(a.member, b.member) end)
  local least, fewest
  for i = 1, min(#looked, LOOKED_AT) do
    local row = rowOf(sub(looked[i].member, 30))
    local attempts = row and row.attempt or 0
    if not least or attempts < fewest then least, fewest = looked[i], attempts end
  end
  if isUntried and fewest > 0 then return nil end
  return least.member, least.feed, least.at
end

-- Says whether the lane has a task that may be claimed, which is then the candidate's `head`.
local function findHead(candidate)
  local bound = candidate.bound
  if bound.left <= 0 then return false end
  if bound.mode > 0 then
    candidate.head, candidate.feed, candidate.place = leastTried(candidate, bound.mode == UNTRIED)
  else
    candidate.head, candidate.feed, candidate.place = nextOf(candidate)
  end
  if not candidate.head then return false end
  candidate.rank = S.ranked == 1 and unpacked('>I5', candidate.head, 9) or 2 ^ 32
  return true
end

local function comesFirst(a, b)
  if a.lane.served ~= b.lane.served then return a.lane.served < b.lane.served end
  local due, otherDue = unpacked('>d', a.head, 14), (unpacked('>d', b.head, 14))
  if due ~= otherDue then return due < otherDue end
  return a.lane.name < b.lane.name
end

-- The names of more origins than this are not read: to read the lanes themselves costs less then.
local MOST_ORIGINS = 1024
-- More open ones than this are not looked at one by one: their lanes have to be put in order.
local FEW_OPEN = 16

-- Lanes that may be claimed from, of which as many are known as have to be. Of each rank those that were not served in
-- this turn come first, in order, and then those that were, in the order in which they were.
local function lineUpLanes(c, takes)
  -- `at`: the last place that was read, of the line of all or of those apart
  local l = { at = '', isOver = c.isShut, seen = {}, fresh = {}, again = {}, ranks = {}, full = {}, asked = 0 }

  local function queueFor(rank)
    if not l.fresh[rank] then
      l.fresh[rank], l.again[rank] = { at = 1 }, { at = 1 }
      local i = #l.ranks
      while i > 0 and l.ranks[i] > rank do i = i - 1 end
      table.insert(l.ranks, i + 1, rank)
    end
    return l.fresh[rank], l.again[rank]
  end

  -- The first of a queue that may be claimed from still: others may have taken what it shares with them.
  local function headOf(queue)
    local candidate = queue[queue.at]
    while candidate and (candidate.bound.left <= 0 or (c.isLimited and isKept(c, candidate))) do
      queue.at = queue.at + 1
      candidate = queue[queue.at]
    end
    return candidate
  end

  local function admit(candidate)
    if not findHead(candidate) then return false end
    if candidate.lane.inFlight >= c.perLane then
      l.full[#l.full + 1] = candidate
      return false
    end
    if c.isLimited and isKept(c, candidate) then return false end
    local fresh = queueFor(candidate.rank)
    local i = #fresh
    while i >= fresh.at and comesFirst(candidate, fresh[i]) do i = i - 1 end
    table.insert(fresh, i + 1, candidate)
    return true
  end

  -- Takes up lanes by their places in Q, whose names begin at `at`. Says how many of them may be claimed from.
  local function takeUp(places, at)
    local list = {}
    for i = 1, #places do
      local place = places[i]
      local bytes = #place
      -- of thousands that are shut as little as can be is looked at
      local known = c.isByOrigin and c.bounds[string.match(place, '^[^ %z]*', at)]
      if not known or known.left > 0 then
        local home, no = unpacked('>I4I4', place, bytes - 7)
        if takes[home] and not l.seen[no] then
          local bound = boundFor(c, sub(place, at, bytes - 9))
          if bound.left > 0 then
            l.seen[no] = true
            list[#list + 1] = { no = no, bound = bound }
          end
        end
      end
    end
    local nos, added = {}, 0
    for i, candidate in ipairs(list) do nos[i] = candidate.no end
    loadLanes(nos)
    local each = math.ceil(c.limit / max(1, #list)) + 1
    for _, candidate in ipairs(list) do
      local lane = lanes[candidate.no]
      if lane then
        candidate.lane = lane
        candidate.feeds = {}
        local part = candidate.bound.mode > 0 and LOOKED_AT or min(each, candidate.bound.left, max(0, c.perLane - lane.inFlight)) + 1
        for _, line in ipairs(lane.lines) do
          if takes[line.home] then candidate.feeds[#candidate.feeds + 1] = feedOf(lane, line.home, part) end
        end
        if lane.inFlight >= c.perLane then touch(lane) end
        -- where not all of its tasks will do, it has to be looked for one that does
        local isWanted = not c.isLimited or candidate.bound.mode == 0 or findHead(candidate)
        if isWanted and c.isLimited and park(c, lane, candidate.bound) then
          c.isTired = #c.parked >= SWEEP
        elseif admit(candidate) then
          added = added + 1
        end
      end
    end
    return added
  end

  -- The first places of several lines, in the order of all: their prefixes in Q, and the place behind which they are read. Says whether
  -- there are no more, and how much of a prefix they still have.
  local function merged(prefixes, after, count)
    local places, isWhole = {}, true
    for _, prefix in ipairs(prefixes) do
      local own = call('ZRANGEBYLEX', Q, (after == '' and '[' or '(') .. prefix .. after, '(' .. prefix .. '\255', 'LIMIT', 0, count)
      if #prefixes == 1 then return own, #own < count, #prefix end
      isWhole = isWhole and #own < count
      for i = 1, #own do places[#places + 1] = sub(own[i], #prefix + 1) end
      if c.apart[prefix] then c.apart[prefix].isEmpty = after == '' and #own == 0 end
    end
    -- bytes compare as places do
    table.sort(places)
    isWhole = isWhole and #places <= count
    for i = #places, count + 1, -1 do places[i] = nil end
    return places, isWhole, 0
  end

  -- The prefixes of the lines in which the claim looks, but for that of all.
  local function linesApart(prefixes)
    if #c.lines > 0 then closeLines(c) end
    for _, line in ipairs(c.lines) do
      c.apart[line.prefix] = line
      prefixes[#prefixes + 1] = line.prefix
    end
    return prefixes
  end

  -- Learns of the first `count` lanes of the origins that are open, in the order of the line: all of them come before any other that is
  -- open. Where there are many origins nothing is learned. Says of how many that may be claimed from.
  local function knowByOrigin(count)
    if call('HLEN', Og) > MOST_ORIGINS then return 0 end
    local open = {}
    for _, origin in ipairs(call('HKEYS', Og)) do
      local known = c.bounds[origin]
      if not known or known.left > 0 then
        if #open == FEW_OPEN then return 0 end
        open[#open + 1] = '\2' .. origin .. '\0' .. c.tag
      end
    end
    local places, isWhole, skip = merged(linesApart(open), '', count)
    l.isOver = isWhole
    if #places > 0 then l.frontier = (unpacked('>I5', places[#places], skip + 1)) end
    return takeUp(places, skip + 22)
  end

  -- Learns of at least `count` more, if there are as many.
  function l.know(count)
    l.asked = count
    local added = 0
    while added < count and not l.isOver and not c.isTired do
      local most = max(count, 16)
      local places, isWhole, skip = merged(linesApart({ c.tag }), l.at, most)
      l.isOver = isWhole
      if #places > 0 then
        l.at = sub(places[#places], skip + 1)
        l.frontier = (unpacked('>I5', l.at))
      end
      local more = takeUp(places, skip + 22)
      if more == 0 and c.isByOrigin and not l.isOver and not l.triedOrigins then
        l.triedOrigins = true
        more = knowByOrigin(most)
      end
      added = added + more
    end
  end

  -- Takes out the one whose turn it is.
  function l.first()
    while true do
      local rank, isFresh
      for _, each in ipairs(l.ranks) do
        isFresh = headOf(l.fresh[each]) ~= nil
        if isFresh or headOf(l.again[each]) then
          rank = each
          break
        end
      end
      if l.isOver or (rank and l.frontier and (rank < l.frontier or (rank == l.frontier and isFresh))) then
        if not rank then return nil end
        local queue = isFresh and l.fresh[rank] or l.again[rank]
        queue.at = queue.at + 1
        return queue[queue.at - 1]
      end
      -- so many were put apart that the rest is left to the next claim
      if c.isTired then return nil end
      l.know(2 * l.asked)
    end
  end

  -- Puts it back with its next task, behind the others if it was served.
  function l.back(candidate, wasServed)
    if not wasServed then return admit(candidate) end
    if not findHead(candidate) then return end
    if candidate.lane.inFlight >= c.perLane then
      l.full[#l.full + 1] = candidate
    elseif not c.isLimited or not isKept(c, candidate) then
      local _, again = queueFor(candidate.rank)
      again[#again + 1] = candidate
    end
  end

  function l.isAny()
    while true do
      for _, each in ipairs(l.ranks) do
        if headOf(l.fresh[each]) or headOf(l.again[each]) then return true end
      end
      if l.isOver or c.isTired then return false end
      l.know(2 * l.asked)
    end
  end

  -- Whether bound and token let something be taken of a lane that has no room.
  local function isBlocked(candidate)
    return candidate.bound.left > 0 and not (c.isLimited and lacksToken(c, candidate.lane))
  end

  -- Of a place in a line apart: the lane, and its bound, if the claim could take something of it.
  local function laneAt(place, at)
    local bytes = #place
    local home, no = unpacked('>I4I4', place, bytes - 7)
    -- what this claim has looked at is known
    if l.seen[no] then return nil end
    local bound = boundFor(c, sub(place, at, bytes - 9))
    local lane = takes[home] and bound.left > 0 and (lanes[no] or (loadLanes({ no }) or lanes[no]))
    if not lane or freeAt(lane) > now then return nil end
    local candidate = { lane = lane, bound = bound, feeds = {} }
    if bound.mode > 0 then
      for _, line in ipairs(lane.lines) do
        if takes[line.home] then candidate.feeds[#candidate.feeds + 1] = feedOf(lane, line.home, LOOKED_AT) end
      end
      if not findHead(candidate) then return nil end
    end
    return candidate
  end

  -- Whether one of the first lanes in a line apart fits; where there are more than are looked at, one of those may.
  local function hasLane(line, fits)
    local places = call('ZRANGEBYLEX', Q, '[' .. line.prefix, '(' .. line.prefix .. '\255', 'LIMIT', 0, SHUT_LOOKED_AT)
    for i = 1, #places do
      local candidate = laneAt(places[i], #line.prefix + 22)
      if candidate and fits(candidate) then return true end
    end
    return #places == SHUT_LOOKED_AT
  end

  -- When the first token of an origin comes that alone keeps back what is due.
  function l.tokenAt()
    if not c.isLimited then return huge end
    local first = huge
    local function waits(candidate)
      local lane = candidate.lane
      return candidate.bound.left > 0 and lane.tokenAt <= now and tokenOf(c, originIn(lane)) > now and not isFull(c, lane)
    end
    for _, list in ipairs({ c.parked, c.lacking }) do
      for _, candidate in ipairs(list) do
        if waits(candidate) then first = min(first, tokenOf(c, originIn(candidate.lane))) end
      end
    end
    closeLines(c)
    local later = {}
    for _, line in ipairs(c.shut) do
      if line.isOrigin and tokenOf(c, line.owner) > now then later[#later + 1] = line end
    end
    table.sort(later, function(a, b) return tokenOf(c, a.owner) < tokenOf(c, b.owner) end)
    for _, line in ipairs(later) do
      local at = tokenOf(c, line.owner)
      if at >= first then break end
      if hasLane(line, waits) then first = at end
    end
    return first
  end

  -- Whether a lane without room has something due that the claim could take.
  function l.isAnyFull()
    for _, list in ipairs({ l.full, c.blocked, c.parked }) do
      for _, candidate in ipairs(list) do
        if isBlocked(candidate) then return true end
      end
    end
    if c.isShut then return false end
    for _, line in ipairs(c.shut) do
      if not (line.isOrigin and tokenOf(c, line.owner) > now) and hasLane(line, isBlocked) then return true end
    end
    local from, last = '[' .. c.tag .. pack('>I4', min(c.perLane, 2 ^ 32 - 1)), '(' .. c.tag .. '\255'
    while true do
      local members = call('ZRANGEBYLEX', U, from, last, 'LIMIT', 0, 64)
      for _, member in ipairs(members) do
        local bytes = #member
        local home, no = unpacked('>I4I4', member, bytes - 7)
        local bound = boundFor(c, sub(member, 42, bytes - 9))
        if takes[home] and bound.left > 0 and not (c.isLimited and tokenOf(c, originOf(sub(member, 42, bytes - 9))) > now) then
          if bound.mode == 0 then return true end
          local lane = lanes[no] or (loadLanes({ no }) or lanes[no])
          local candidate = { lane = lane, bound = bound, feeds = {} }
          for _, line in ipairs(lane and lane.lines or {}) do
            if takes[line.home] then candidate.feeds[#candidate.feeds + 1] = feedOf(lane, line.home, LOOKED_AT) end
          end
          if findHead(candidate) then return true end
        end
      end
      if #members < 64 then return false end
      from = '(' .. members[64]
    end
  end

  l.know(min(c.limit, SWEEP) + 1)
  return l
end

-- Brings lanes into line whose moment has come, or that have room by this claim's measure.
local function wake(c)
  S.perLane = c.perLane
  local coming = call('ZRANGEBYLEX', V, '[' .. c.tag, '(' .. c.tag .. pack('>d', now) .. '\255', 'LIMIT', 0, SWEEP)
  local roomy = call('ZRANGEBYLEX', U, '[' .. c.tag, '(' .. c.tag .. pack('>I4', min(c.perLane, 2 ^ 32 - 1)), 'LIMIT', 0, SWEEP)
  local nos = {}
  for _, members in ipairs({ coming, roomy }) do
    for _, member in ipairs(members) do nos[#nos + 1] = (unpacked('>I4', member, #member - 3)) end
  end
  loadLanes(nos)
  for _, no in ipairs(nos) do
    if lanes[no] then touch(lanes[no]) end
  end
end

local claimed = {}
-- Says whether more was due than `limit`, whether a limit keeps back what is due, and when the first token comes that alone does.
local function claimDue(c, owner)
  wake(c)
  flush()
  openLines(c)
  local takes, spoilt = homesFor(c, owner), 0
  local line = lineUpLanes(c, takes)
  while #claimed < c.limit and S.inFlight < c.total and spoilt < SWEEP do
    local candidate = line.first()
    if not candidate then break end
    local head, feed = candidate.head, candidate.feed
    -- most often it is the first that is left; others are taken from the middle
    if candidate.place == feed.at then feed.at = feed.at + 1 else table.remove(feed, candidate.place) end
    local row = rowOf(sub(head, 30))
    local wasServed = false
    if not row then
      -- other code has deleted it, or written something else in its place
      unplace(D, head)
      touch(candidate.lane)
    elseif row.schema > G.schema then
      setAside(row, false)
    elseif now > row.deadline then
      endUnasked(row, REASONS[warm(row).why])
      collect(row)
    elseif row.attempt >= row.most then
      endUnasked(row, 'max_attempts')
      collect(row)
    else
      row.due0 = head
      startLease(row, owner, c.leaseMs)
      claimed[#claimed + 1] = row.id
      candidate.bound.left = candidate.bound.left - 1
      took(c, candidate.lane)
      wasServed = true
    end
    if not wasServed then spoilt = spoilt + 1 end
    if not wasServed and row and row.order ~= NONE then
      flush() -- the next of its order, in whatever lane, may be due now
      line = lineUpLanes(c, takes)
    else
      line.back(candidate, wasServed)
    end
  end
  local more, blocked = line.isAny(), false
  if S.inFlight >= c.total then
    more, blocked = false, more or line.isAnyFull()
  else
    blocked = line.isAnyFull()
  end
  local tokenAt = line.tokenAt()
  writeLines(c)
  return more or c.isTired, blocked, tokenAt
end
