-- Giving leases to what is due.
--
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

-- Whether the line has gone past a lane that comes first in it. It has another turn then, which is still to come.
local function isLate(lane, rank)
  if lane.served < firstTag() then
    takeTag(lane)
    touch(lane)
    if lane.served > S.served then return true end
  end
  -- those of a higher priority go before their turn
  if rank >= 2 ^ 32 then S.served = max(S.served, lane.served) end
  return false
end

local claimed
do --@ fresh
  claimed = {}
end
-- Says whether more was due than `limit`, whether a limit keeps back what is due, and when the first token comes that alone does.
local function claimDue(c, owner)
  wake(c)
  flush()
  openGate(c)
  local takes, spoilt = homesFor(c, owner), 0
  local line = lineUpLanes(c, takes)
  while #claimed < c.limit and S.inFlight < c.total and spoilt < SWEEP do
    local candidate = line.first()
    if not candidate then break end
    local late = everyone and isLate(candidate.lane, candidate.rank)
    local head, feed = candidate.head, candidate.feed
    -- most often it is the first that is left; others are taken from the middle
    if not late then
      if candidate.place == feed.at then feed.at = feed.at + 1 else table.remove(feed, candidate.place) end
    end
    local row = rowOf(sub(head, 30))
    local wasServed = false
    if late then
      -- goes back into line as it is
    elseif not row then
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
      if c.gate then c.gate.took(candidate.lane) end
      wasServed = true
    end
    if not wasServed then spoilt = spoilt + 1 end
    if not wasServed and not late and row and row.order ~= NONE then
      flush() -- the next of its order, in whatever lane, may be due now
      line = lineUpLanes(c, takes)
    else
      line.back(candidate)
    end
  end
  local more, blocked = line.isAny(), false
  if S.inFlight >= c.total then
    more, blocked = false, more or line.isAnyFull()
  else
    blocked = line.isAnyFull()
  end
  if not c.gate then return more, blocked, huge end
  return more or c.gate.isTired, blocked, c.gate.close()
end
