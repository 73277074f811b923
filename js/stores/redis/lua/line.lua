-- The lanes that may be claimed from, in the order in which they are served, and no more of them than tasks may be claimed; of each only
-- the first tasks. Ten thousand lanes that wait, are held or have no room cost nothing.
--
-- The names of more origins than this are not read: to read the lanes themselves costs less then.
local MOST_ORIGINS = 1024
-- More open ones than this are not looked at one by one: their lanes have to be put in order.
local FEW_OPEN = 16

-- Whether a place comes before another, as the bytes of the two do.
local function isAhead(a, b)
  local rank, served, due = unpacked('>I5dd', a)
  local otherRank, otherServed, otherDue = unpacked('>I5dd', b)
  if rank ~= otherRank then return rank < otherRank end
  if served ~= otherServed then return served < otherServed end
  if due ~= otherDue then return due < otherDue end
  return isBelow(a, b, 22)
end

-- The first places of several lines, in the order of all: their prefixes in Q, and the place behind which they are read. Says whether
-- there are no more.
local function merged(prefixes, after, count)
  local places, isWhole = {}, true
  for _, prefix in ipairs(prefixes) do
    local own = call('ZRANGEBYLEX', Q, (after == '' and '[' or '(') .. prefix .. after, '(' .. prefix .. '\255', 'LIMIT', 0, count)
    for i = 1, #own do own[i] = sub(own[i], #prefix + 1) end
    isWhole = isWhole and #own < count
    if not places[1] then
      places = own
    elseif own[1] then
      local both, at, ownAt = {}, 1, 1
      while #both < count and (places[at] or own[ownAt]) do
        if places[at] and not (own[ownAt] and isAhead(own[ownAt], places[at])) then
          both[#both + 1] = places[at]
          at = at + 1
        else
          both[#both + 1] = own[ownAt]
          ownAt = ownAt + 1
        end
      end
      isWhole = isWhole and not places[at] and not own[ownAt]
      places = both
    end
  end
  return places, isWhole
end

-- Lanes that may be claimed from, of which as many are known as have to be, in order for each rank.
local function lineUpLanes(c, takes)
  -- `at`: the last place that was read, where there are lines apart
  local l = { cursor = '[' .. c.tag, at = '', isOver = c.isShut, seen = {}, queues = {}, ranks = {}, full = {}, asked = 0 }
  local last = '(' .. c.tag .. '\255'
  local gate = c.gate
  if gate then gate.takes, gate.seen = takes, l.seen end

  local function queueFor(rank)
    if not l.queues[rank] then
      l.queues[rank] = { at = 1 }
      local i = #l.ranks
      while i > 0 and l.ranks[i] > rank do i = i - 1 end
      table.insert(l.ranks, i + 1, rank)
    end
    return l.queues[rank]
  end

  -- The first of a queue that may be claimed from still: others may have taken what it shares with them.
  local function headOf(queue)
    local candidate = queue[queue.at]
    while candidate and (candidate.bound.left <= 0 or (gate and gate.isKept(candidate))) do
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
    if gate and gate.isKept(candidate) then return false end
    local queue = queueFor(candidate.rank)
    local i = #queue
    while i >= queue.at and comesFirst(candidate, queue[i]) do i = i - 1 end
    table.insert(queue, i + 1, candidate)
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
    if gate then gate.look(nos) end
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
        local isParked = gate and (candidate.bound.mode == 0 or findHead(candidate)) and gate.park(candidate)
        if not isParked and admit(candidate) then added = added + 1 end
      end
    end
    return added
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
    local places
    places, l.isOver = merged(gate and gate.linesBeside(open) or open, '', count)
    if #places > 0 then l.frontier = { unpacked('>I5dd', places[#places]) } end
    return takeUp(places, 22)
  end

  -- Learns of at least `count` more, if there are as many.
  function l.know(count)
    l.asked = count
    local added = 0
    while added < count and not l.isOver and not (gate and gate.isTired) do
      local most = max(count, 16)
      local places, at
      if gate then
        places, l.isOver = merged(gate.linesBeside({ c.tag }), l.at, most)
        at = 22
      else
        places = call('ZRANGEBYLEX', Q, l.cursor, last, 'LIMIT', 0, most)
        l.isOver = #places < most
        at = 38
      end
      if #places > 0 then
        l.at = places[#places]
        l.cursor = '(' .. l.at
        l.frontier = { unpacked('>I5dd', l.at, at - 21) }
      end
      local more = takeUp(places, at)
      if more == 0 and c.isByOrigin and not l.isOver and not l.triedOrigins then
        l.triedOrigins = true
        more = knowByOrigin(most)
      end
      added = added + more
    end
  end

  -- Whether it comes before all that are not known.
  local function isKnownFirst(candidate)
    if not l.frontier then return false end
    local rank, served, due = unpack(l.frontier)
    if candidate.rank ~= rank then return candidate.rank < rank end
    if candidate.lane.served ~= served then return candidate.lane.served < served end
    return (unpacked('>d', candidate.head, 14)) <= due
  end

  -- Takes out the one whose turn it is.
  function l.first()
    while true do
      local head, queue
      for _, rank in ipairs(l.ranks) do
        queue = l.queues[rank]
        head = headOf(queue)
        if head then break end
      end
      if l.isOver or (head and isKnownFirst(head)) then
        if not head then return nil end
        queue.at = queue.at + 1
        return head
      end
      -- so many were put apart that the rest is left to the next claim
      if gate and gate.isTired then return nil end
      l.know(2 * l.asked)
    end
  end

  -- Puts it back with its next task.
  function l.back(candidate)
    admit(candidate)
  end

  function l.isAny()
    while true do
      for _, each in ipairs(l.ranks) do
        if headOf(l.queues[each]) then return true end
      end
      if l.isOver or (gate and gate.isTired) then return false end
      l.know(2 * l.asked)
    end
  end

  -- Whether a lane without room has something due that the claim could take.
  function l.isAnyFull()
    for _, candidate in ipairs(l.full) do
      if candidate.bound.left > 0 and not (gate and gate.lacksToken(candidate.lane)) then return true end
    end
    if gate and gate.isBlocked() then return true end
    if c.isShut then return false end
    local from = '[' .. c.tag .. pack('>I4', min(c.perLane, 2 ^ 32 - 1))
    while true do
      local members = call('ZRANGEBYLEX', U, from, last, 'LIMIT', 0, 64)
      for _, member in ipairs(members) do
        local bytes = #member
        local home, no = unpacked('>I4I4', member, bytes - 7)
        local bound = boundFor(c, sub(member, 42, bytes - 9))
        if takes[home] and bound.left > 0 and not (gate and gate.originLacks(originOf(sub(member, 42, bytes - 9)))) then
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
