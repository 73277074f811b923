-- The limits of a claim: of origins, over all their lanes or each by itself, and of principals.
--
-- An origin or a principal that has as much as it may can have ten thousand lanes in line before all others. A claim that meets one puts it into
-- a line of that origin or principal, which Wt names, and where later claims do not meet it. They look into that line, beside the one of
-- all, once its owner may have more. Wt has each by the moment of its next token; 0: it waits for something else.

-- ARGV of each: most in flight, whether its lanes share it, interval and lead of its tokens (see limits.ts), and what it says of origins.
local function readLimits(c, many, perPrincipal)
  c.isLimited, c.hasLimits = many > 0 or perPrincipal < huge, many > 0
  c.perPrincipal, c.limits, c.fitting = perPrincipal, {}, {}
  c.lines, c.shut, c.apart, c.parked, c.lacking, c.blocked = {}, {}, {}, {}, {}, {}
  for _ = 1, many do
    local packed = arg()
    local most, isShared, interval, lead, at = unpacked('>dBdd', packed)
    c.limits[sub(packed, at)] = { most = most, isShared = isShared == 1, interval = interval, lead = lead }
  end
end

-- The one that holds of those that fit an origin, as limitFor in engine/limits.ts finds it; false: none does.
local function limitFor(c, origin)
  local limit = c.hasLimits and c.fitting[origin]
  if limit == nil then
    limit = c.limits[origin] or false
    local scheme, host = string.match(origin, '^([^/]*//)(.*)')
    local dot = string.find(host or '', '.', 1, true)
    while dot and not limit do
      limit = c.limits[scheme .. '*' .. sub(host, dot)] or false
      dot = string.find(host, '.', dot + 1, true)
    end
    c.fitting[origin] = limit
  end
  return limit
end

local function originIn(lane)
  lane.origin = lane.origin or originOf(lane.name)
  return lane.origin
end

-- When the lanes of an origin may next be leased; in the past: now.
local function tokenOf(c, origin)
  local limit = limitFor(c, origin)
  return limit and limit.isShared and limit.interval > 0 and shareOf(origin)[TOKEN_AT] or -huge
end
local function lacksToken(c, lane)
  return lane.tokenAt > now or tokenOf(c, originIn(lane)) > now
end

-- The line of the origin or the principal of a lane that has as much in flight as it may.
local function fullPart(c, lane)
  local origin = originIn(lane)
  local limit = limitFor(c, origin)
  if limit and limit.isShared and limit.most < huge and partOf(origin, RUNS) >= limit.most then return BY_ORIGIN end
  if c.perPrincipal < huge and partOf(lane.tag, RUNS) >= c.perPrincipal then return BY_PRINCIPAL end
end
local function isFull(c, lane)
  if lane.inFlight >= c.perLane then return true end
  if not c.isLimited then return false end
  local limit = limitFor(c, originIn(lane))
  return (limit and not limit.isShared and lane.inFlight >= limit.most) or fullPart(c, lane) ~= nil
end

-- Whether what keeps a candidate back lasts as long as the claim does. It is remembered as what it is.
local function isKept(c, candidate)
  local lane = candidate.lane
  if lacksToken(c, lane) then
    c.lacking[#c.lacking + 1] = candidate
  elseif isFull(c, lane) then
    c.blocked[#c.blocked + 1] = candidate
  else
    return false
  end
  return true
end

local function took(c, lane)
  if not c.isLimited then return end
  local origin = originIn(lane)
  local limit = limitFor(c, origin)
  if not limit or limit.interval == 0 then return end
  local tat = limit.isShared and shareOf(origin)[TAT] or lane.tat
  tat = min(max(now, tat), now + limit.lead) + limit.interval
  local tokenAt = math.ceil(tat - limit.lead)
  if limit.isShared then
    moreOf(origin)
    shares[origin][TAT], shares[origin][TOKEN_AT] = tat, tokenAt
  else
    lane.tat, lane.tokenAt = tat, tokenAt
    touch(lane)
  end
end

-- A line apart by its name in Wt: its prefix in Q, and whose it is.
local function lineApart(name, score)
  return { name = name, prefix = name .. '\0', owner = sub(name, 2), isOrigin = string.byte(name) == BY_ORIGIN, score = score }
end
local function isShutLine(c, line)
  if not line.isOrigin then return partOf(line.owner, RUNS) >= c.perPrincipal end
  local limit = limitFor(c, line.owner)
  return tokenOf(c, line.owner) > now or (limit and limit.isShared and partOf(line.owner, RUNS) >= limit.most)
end

-- Counts what is in flight, once in the life of a store: with the first claim that has limits. The lanes have just been written.
local function countRuns()
  S.limited = 1
  for _, text in ipairs(call('HVALS', N)) do
    local _, _, _, _, runs = unpacked('>I4c16ddd', text)
    if runs > 0 then gainShare(laneFrom(text), 0, 0, runs) end
  end
end

-- Finds the lines apart in which something may start, and those in which nothing may.
local function openLines(c)
  if not everyone then return end
  if c.isLimited and S.limited == 0 then countRuns() end
  local from, found = 0, {}
  repeat
    local page = call('ZRANGE', Wt, from, from + SWEEP - 1, 'WITHSCORES')
    from = from + SWEEP
    for i = 1, #page, 2 do
      local line = lineApart(page[i], tonumber(page[i + 1]))
      local known = line.isOrigin and c.isByOrigin and c.bounds[line.owner]
      if not known or known.left > 0 then found[#found + 1] = line end
    end
  until #page < 2 * SWEEP or #found >= SWEEP
  local names = {}
  for i, line in ipairs(found) do names[i] = line.owner end
  loadShares(names)
  for _, line in ipairs(found) do
    local list = isShutLine(c, line) and c.shut or c.lines
    list[#list + 1] = line
  end
end

-- Leaves the lines whose owners have given all that they may: there may be thousands of lanes in one.
local function closeLines(c)
  local open = {}
  for _, line in ipairs(c.lines) do
    local list = isShutLine(c, line) and c.shut or open
    list[#list + 1] = line
  end
  c.lines = open
end

-- Puts a lane that was met in line apart. Says whether it did.
local function park(c, lane, bound)
  local stage = tokenOf(c, originIn(lane)) > now and BY_ORIGIN or fullPart(c, lane)
  if not stage then return false end
  lane.park = stage
  touch(lane)
  c.parked[#c.parked + 1] = { lane = lane, bound = bound }
  return true
end

-- Writes down where lanes wait, and for which moment.
local function writeLines(c)
  local waits = {}
  for _, line in ipairs(c.lines) do
    -- nothing was found in it
    if line.isEmpty then unplace(Wt, line.name) end
  end
  for _, line in ipairs(c.shut) do waits[line.name] = line.score end
  local function wait(name, owner, isOrigin)
    local score = isOrigin and max(0, tokenOf(c, owner)) or 0
    if waits[name] ~= score then place(Wt, name, score) end
    waits[name] = score
  end
  for _, line in ipairs(c.shut) do wait(line.name, line.owner, line.isOrigin) end
  for _, candidate in ipairs(c.parked) do
    local lane = candidate.lane
    local isOrigin = lane.park == BY_ORIGIN
    local owner = isOrigin and originIn(lane) or lane.tag
    wait(string.char(lane.park) .. owner, owner, isOrigin)
  end
end
