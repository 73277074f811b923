-- What a claim asks for, and the tasks of a lane that it may take.
local LEAST, UNTRIED = 1, 2

local function claimFrom()
  local c = { bounds = {}, skipped = {} }
  local packed = arg()
  local any, own, supplied, bounds, skips, needs, at, limits
  c.limit, c.leaseMs, c.total, c.perLane, c.otherMax, any, own, supplied, bounds, skips, needs, limits, c.perPrincipal, c.perFree, c.tag =
    unpacked('>dddddBBBI4I4I4I4ddc16', packed)
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
  c.limits, c.isLimited = {}, limits > 0 or min(c.perPrincipal, c.perFree) < huge
  for _ = 1, limits do
    local packed = arg()
    local limit = {}
    limit.most, limit.shared, limit.interval, limit.lead, at = unpacked('>dBdd', packed)
    c.limits[sub(packed, at)] = limit
  end
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
  -- one may have come since the claim was made
  if next(homes) and not c.own then
    for _, name in ipairs(call('ZRANGEBYSCORE', H, string.format('(%.17g', now), '+inf')) do c.skipped[name] = true end
  end
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

-- Whether a text comes before another by its bytes, from the first that may differ: Lua's own `<` goes by the locale of the server.
local function isBelow(a, b, from)
  for i = from, min(#a, #b) do
    local byte, other = string.byte(a, i), string.byte(b, i)
    if byte ~= other then return byte < other end
  end
  return #a < #b
end

local function comesFirst(a, b)
  if a.lane.served ~= b.lane.served then return a.lane.served < b.lane.served end
  local due, otherDue = unpacked('>d', a.head, 14), (unpacked('>d', b.head, 14))
  if due ~= otherDue then return due < otherDue end
  return isBelow(a.lane.name, b.lane.name, 1)
end
