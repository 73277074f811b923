-- The limits of a claim: of origins, over all their lanes or each by itself, and of principals.
--
-- An origin or a principal that has as much as it may can have ten thousand lanes in line before all others. A claim that meets one puts it into
-- a line of that origin or principal, which Wt names, and where later claims do not meet it. They look into that line, beside the one of
-- all, once its owner may have more. Wt has each by the moment of its next token; 0: it waits for something else.

-- Counts what is in flight, once in the life of a store: with the first claim that has limits. The lanes have just been written.
local function countRuns()
  S.limited = 1
  for _, text in ipairs(call('HVALS', N)) do
    local _, _, _, _, runs = unpacked('>I4c16ddd', text)
    if runs > 0 then gainShare(laneFrom(text), 0, 0, runs) end
  end
end

-- What a claim has to ask that has limits, or that finds lines apart. All of it is made in here, since to make a function takes time.
local function gateOf(c, found)
  -- `isRated`: lanes of an origin may share tokens
  local gate = { isTired = false, isRated = false }
  local fitting, lines, shut, parked, lacking, blocked, waits = {}, {}, {}, {}, {}, {}, {}
  local hasLimits = next(c.limits)
  for _, limit in pairs(c.limits) do gate.isRated = gate.isRated or (limit.shared == 1 and limit.interval > 0) end

  local function originIn(lane)
    lane.origin = lane.origin or originOf(lane.name)
    return lane.origin
  end

  -- The one that holds of those that fit an origin, as limitFor in engine/limits.ts finds it; false: none does.
  local function limitFor(origin)
    if not hasLimits then return false end
    local limit = fitting[origin]
    if limit == nil then
      limit = c.limits[origin] or false
      local scheme, host = string.match(origin, '^([^/]*//)(.*)')
      local dot = string.find(host or '', '.', 1, true)
      while dot and not limit do
        limit = c.limits[scheme .. '*' .. sub(host, dot)] or false
        dot = string.find(host, '.', dot + 1, true)
      end
      fitting[origin] = limit
    end
    return limit
  end

  -- When the lanes of an origin may next be leased; in the past: now.
  local function tokenOf(origin)
    local limit = limitFor(origin)
    return limit and limit.shared == 1 and limit.interval > 0 and shareOf(origin)[TOKEN_AT] or -huge
  end
  function gate.originLacks(origin)
    return tokenOf(origin) > now
  end
  function gate.lacksToken(lane)
    return lane.tokenAt > now or tokenOf(originIn(lane)) > now
  end

  -- At least `least` where places are few, and so many for each that is left beside one.
  local function mostOf(left, least)
    return c.perFree < huge and max(least, c.perFree * (left - 1)) or huge
  end
  local function mostOfPrincipal()
    -- where none is free nothing starts: it is no cause to put thousands of lanes apart
    return min(c.perPrincipal, mostOf(c.total - S.inFlight, 1))
  end

  -- The line of the origin or the principal of a lane that has as much in flight as it may.
  local function fullPart(lane)
    local origin = originIn(lane)
    local limit = limitFor(origin)
    if limit and limit.shared == 1 and limit.most < huge and partOf(origin, RUNS) >= limit.most then return BY_ORIGIN end
    if partOf(lane.tag, RUNS) >= mostOfPrincipal() then return BY_PRINCIPAL end
  end
  local function isFull(candidate)
    local lane = candidate.lane
    local left = candidate.bound.left
    if lane.inFlight >= min(c.perLane, mostOf(left, c.perLane / (left > 1 and 2 or 4))) then return true end
    local limit = limitFor(originIn(lane))
    return (limit and limit.shared == 0 and lane.inFlight >= limit.most) or fullPart(lane) ~= nil
  end

  -- Whether what keeps a candidate back lasts as long as the claim does. It is remembered as what it is.
  function gate.isKept(candidate)
    local lane = candidate.lane
    local list = (gate.lacksToken(lane) and lacking) or (isFull(candidate) and blocked)
    if list then list[#list + 1] = candidate end
    return list and true
  end

  -- Asks for all shares of these lanes at once.
  function gate.look(nos)
    local names = {}
    for _, no in ipairs(nos) do
      local lane = lanes[no]
      if lane then
        names[#names + 1] = lane.tag
        local limit = limitFor(originIn(lane))
        if limit and limit.shared == 1 then names[#names + 1] = lane.origin end
      end
    end
    loadShares(names)
  end

  function gate.took(lane)
    local origin = originIn(lane)
    local limit = limitFor(origin)
    if not limit or limit.interval == 0 then return end
    local isShared = limit.shared == 1
    local tat = isShared and shareOf(origin)[TAT] or lane.tat
    tat = min(max(now, tat), now + limit.lead) + limit.interval
    local tokenAt = math.ceil(tat - limit.lead)
    if isShared then
      moreOf(origin)
      shareOf(origin)[TAT], shareOf(origin)[TOKEN_AT] = tat, tokenAt
    else
      lane.tat, lane.tokenAt = tat, tokenAt
      touch(lane)
    end
  end

  -- Puts the lane of a candidate that was met in line apart. Says whether it did.
  function gate.park(candidate)
    local lane = candidate.lane
    local stage = tokenOf(originIn(lane)) > now and BY_ORIGIN or fullPart(lane)
    if not stage then return false end
    lane.park = stage
    touch(lane)
    parked[#parked + 1] = candidate
    gate.isTired = #parked >= SWEEP
    return true
  end

  local function isShut(line)
    if not line.isOrigin then return partOf(line.owner, RUNS) >= mostOfPrincipal() end
    local limit = limitFor(line.owner)
    return tokenOf(line.owner) > now or (limit and limit.shared == 1 and partOf(line.owner, RUNS) >= limit.most)
  end
  -- Leaves the lines whose owners have given all that they may: there may be thousands of lanes in one.
  local function sortLines(list)
    lines = {}
    for _, line in ipairs(list) do
      local to = isShut(line) and shut or lines
      to[#to + 1] = line
    end
  end
  -- The prefixes of the lines in which the claim looks, behind these.
  function gate.linesBeside(prefixes)
    if #lines > 0 then sortLines(lines) end
    for _, line in ipairs(lines) do prefixes[#prefixes + 1] = line.prefix end
    return prefixes
  end

  -- Of a place in a line: the lane, if the claim could take something of it, as a candidate.
  local function laneAt(place, at)
    local bytes = #place
    local home, no = unpacked('>I4I4', place, bytes - 7)
    -- what this claim has looked at is known
    if gate.seen[no] or not gate.takes[home] then return nil end
    local bound = boundFor(c, sub(place, at, bytes - 9))
    if bound.left <= 0 then return nil end
    loadLanes({ no })
    local lane = lanes[no]
    if not lane or max(lane.heldUntil, lane.tokenAt) > now then return nil end
    local candidate = { lane = lane, bound = bound, feeds = {} }
    if bound.mode > 0 then
      for _, line in ipairs(lane.lines) do
        if gate.takes[line.home] then candidate.feeds[#candidate.feeds + 1] = feedOf(lane, line.home, LOOKED_AT) end
      end
      if not findHead(candidate) then return nil end
    end
    return candidate
  end
  -- Whether one of the first lanes in a line fits; where there are more than are looked at, one of those may.
  local function hasLane(line, fits)
    local places = call('ZRANGEBYLEX', Q, '[' .. line.prefix, '(' .. line.prefix .. '\255', 'LIMIT', 0, SHUT_LOOKED_AT)
    for i = 1, #places do
      local candidate = laneAt(places[i], #line.prefix + 22)
      if candidate and fits(candidate) then return true end
    end
    return #places == SHUT_LOOKED_AT
  end

  -- Whether a limit keeps back what is due in a lane that is not in line.
  function gate.isBlocked()
    local function fits(candidate)
      return candidate.bound.left > 0 and not gate.lacksToken(candidate.lane)
    end
    for _, list in ipairs({ blocked, parked }) do
      for _, candidate in ipairs(list) do
        if fits(candidate) then return true end
      end
    end
    if c.isShut then return false end
    for _, line in ipairs(shut) do
      if not (line.isOrigin and tokenOf(line.owner) > now) and hasLane(line, fits) then return true end
    end
    return false
  end

  -- When the first token of an origin comes that alone keeps back what is due.
  local function firstToken()
    local first, later = huge, {}
    local function fits(candidate)
      local lane = candidate.lane
      return candidate.bound.left > 0 and lane.tokenAt <= now and tokenOf(originIn(lane)) > now and not isFull(candidate)
    end
    for _, list in ipairs({ parked, lacking }) do
      for _, candidate in ipairs(list) do
        if fits(candidate) then first = min(first, tokenOf(candidate.lane.origin)) end
      end
    end
    for _, line in ipairs(shut) do
      if line.isOrigin and tokenOf(line.owner) > now then later[#later + 1] = line end
    end
    table.sort(later, function(a, b) return tokenOf(a.owner) < tokenOf(b.owner) end)
    for _, line in ipairs(later) do
      local at = tokenOf(line.owner)
      if at >= first then break end
      if hasLane(line, fits) then first = at end
    end
    return first
  end

  local function wait(name, owner)
    local score = string.byte(name) == BY_ORIGIN and max(0, tokenOf(owner)) or 0
    if waits[name] ~= score then place(Wt, name, score) end
    waits[name] = score
  end
  -- The end of the claim: writes down where lanes wait, and says when the first token comes.
  function gate.close()
    sortLines(lines)
    local at = firstToken()
    for _, line in ipairs(shut) do
      waits[line.name] = line.score
      wait(line.name, line.owner)
    end
    for _, candidate in ipairs(parked) do
      local lane = candidate.lane
      local owner = lane.park == BY_ORIGIN and lane.origin or lane.tag
      wait(string.char(lane.park) .. owner, owner)
    end
    for _, line in ipairs(lines) do
      local isEmpty = not waits[line.name] and not firstIn(Q, '[' .. line.prefix, '(' .. line.prefix .. '\255')
      if isEmpty then unplace(Wt, line.name) end
    end
    return at
  end

  -- Of lanes that are shown, by their names: origins that have no token, each with the time until the next comes.
  function gate.waitsOf(names)
    local said, seen, origins = {}, {}, {}
    for i = 1, #names do
      local origin = originOf(names[i])
      local limit = not seen[origin] and limitFor(origin)
      seen[origin] = true
      if limit and limit.shared == 1 and limit.interval > 0 then origins[#origins + 1] = origin end
    end
    loadShares(origins)
    for _, origin in ipairs(origins) do
      local inMs = tokenOf(origin) - now
      if inMs > 0 then said[#said + 1] = pack('>d', inMs) .. origin end
    end
    return said
  end

  sortLines(found)
  return gate
end

-- Finds the lines apart, but for those of origins that are shut.
local function openGate(c)
  if not everyone then return end
  local from, found, names = 0, {}, {}
  repeat
    local page = call('ZRANGE', Wt, from, from + SWEEP - 1, 'WITHSCORES')
    from = from + SWEEP
    for i = 1, #page, 2 do
      local name = page[i]
      local line = { name = name, prefix = name .. '\0', owner = sub(name, 2), isOrigin = string.byte(name) == BY_ORIGIN, score = tonumber(page[i + 1]) }
      local known = line.isOrigin and c.isByOrigin and c.bounds[line.owner]
      if not known or known.left > 0 then
        found[#found + 1] = line
        names[#found] = line.owner
      end
    end
  until #page < 2 * SWEEP or #found >= SWEEP
  if c.isLimited and S.limited == 0 then countRuns() end
  if not c.isLimited and #found == 0 then return end
  loadShares(names)
  c.gate = gateOf(c, found)
end
