-- One atomic step of a runner, in the order that the contract gives.
--
-- ARGV: head; counts of settlements, holds and renewals, whether it claims, whether it needs no lanes, since when the store was silent and the grace for that, and the owner; of each settlement its packed
-- part and its log; of each hold its packed part and the lane; the renewals; the claim, with its bounds, homes to skip, and
-- homes supplied.
-- Answer: state, a byte for each settlement, a byte for each renewal, claimed tasks, ended tasks, lanes, waits of their origins, dead letters that were deleted, hints.
-- `c`: what is claimed; `shown`: lanes that the step has met; `names`: the lanes of the answer by their names, where these are asked for.
local c, shown, names
do --@ fresh
  c, shown, names = nil, {}, {}
end

local function valuesOf(key, fields)
  local list = {}
  for from = 1, #fields, MOST do
    local found = call('HMGET', key, unpack(fields, from, min(#fields, from + MOST - 1)))
    for i = 1, #found do list[from + i - 1] = found[i] end
  end
  return list
end

-- When time, or another turn, next finds something to do.
local function nextAt(more, least)
  if more then return now end
  local first = call('ZRANGE', Z, 0, 0, 'WITHSCORES')
  if first[2] then least = min(least, tonumber(first[2])) end
  if c then
    if c.isShut then return least end
    local from, last, looked = '[' .. c.tag, '(' .. c.tag .. '\255', 0
    while true do
      local members = call('ZRANGEBYLEX', V, from, last, 'LIMIT', 0, 64)
      looked = looked + #members
      for i = 1, #members do
        local member = members[i]
        local known = c.isByOrigin and c.bounds[string.match(member, '^[^ %z]*', 25)]
        if (c.isByOrigin and looked > SHUT_LOOKED_AT) or (not (known and known.max <= 0) and boundFor(c, sub(member, 25, #member - 5)).max > 0) then
          return min(least, (unpacked('>d', member, 17)))
        end
      end
      if #members < 64 then return least end
      from = '(' .. members[64]
    end
  end
  if call('ZCARD', Q) + call('ZCARD', U) > 0 then return now end
  -- the first lane of each principal
  local from = '-'
  for _ = 1, SWEEP do
    local member = firstIn(V, from, '(' .. FORGET)
    if not member then break end
    least = min(least, (unpacked('>d', member, 17)))
    from = '[' .. sub(member, 1, 16) .. '\255'
  end
  return least
end

-- Leaves out lanes that are paused, which no claim is shown.
local function open(list)
  if not c or (S.layout < 3 and not (c.gate and c.gate.isRated)) then return list end
  local left = {}
  for _, lane in ipairs(list) do
    local name = sub(lane, 106 + 30 * unpacked('>I4', lane, 102))
    if not isPaused(name) then
      left[#left + 1] = lane
      names[#left] = name
    end
  end
  return left
end

-- At most 64 lanes are all shown; of more, those of this step and those that come next.
local function views()
  if call('HLEN', N) <= LANES_SHOWN then return open(call('HVALS', N)) end
  local nos, seen = {}, {}
  local function add(no)
    if seen[no] then return end
    seen[no] = true
    nos[#nos + 1] = pack('>I4', no)
  end
  for _, no in ipairs(shown) do add(no) end
  for _, key in ipairs({ Q, V }) do
    local from, last = c and '[' .. c.tag or '-', c and '(' .. c.tag .. '\255' or '+'
    for _, member in ipairs(call('ZRANGEBYLEX', key, from, last, 'LIMIT', 0, LANES_SHOWN)) do
      add((unpacked('>I4', member, #member - 3)))
    end
  end
  local list = {}
  for _, lane in ipairs(valuesOf(N, nos)) do
    if lane then list[#list + 1] = lane end
  end
  return open(list)
end

-- Ids, rows, records and headers, each as a list. The rows have just been written.
local function tasksOf(list)
  if #list == 0 then return {} end
  local texts = {}
  for i = 1, #list do
    local row = rows[list[i]]
    texts[i] = row.text
  end
  return { list, texts, valuesOf(R, list), valuesOf(E, list) }
end

do --@ main
  local settles, holds, renewals, claims, isBrief, silentSince, graceMs, at = unpacked('>I4I4I4BBdd', arg())
  local owner = sub(ARGV[2], at)

  -- `given` is at the owner: of settlement i the packed part is 2 i - 1 further on, and its log 2 i
  local ids = {}
  for i = 1, settles do
    local packed = ARGV[given + 2 * i - 1]
    ids[i] = sub(packed, SETTLED_ID, SETTLED_ID + unpacked('>I4', packed, SETTLED_BYTES) - 1)
  end
  local settlementsAt = given
  given = given + 2 * settles
  local wishes = {}
  for i = 1, holds do
    local forMs, tag, from = unpacked('>dc16', arg())
    wishes[i] = { forMs = forMs, tag = tag, lane = sub(ARGV[given], from) }
  end
  local renewed = {}
  for i = 1, renewals do
    renewed[i] = arg()
    ids[#ids + 1] = sub(renewed[i], 17)
  end
  load(ids)

  -- holds of which nothing has to be known any more
  for _, member in ipairs(call('ZRANGEBYLEX', V, '[' .. FORGET, '(' .. FORGET .. pack('>d', now) .. '\255', 'LIMIT', 0, SWEEP)) do
    local no = unpacked('>I4', member, #member - 3)
    loadLanes({ no })
    if lanes[no] then touch(lanes[no]) end
  end
  local trimmed = retain()
  local settled = {}
  for i = 1, settles do
    local at = settlementsAt + 2 * i
    settled[i] = string.char(settle(ARGV[at - 1], ARGV[at]))
  end
  for _, wish in ipairs(wishes) do
    if wish.forMs > 0 then holdLane(laneNamed(wish.lane, wish.tag), wish.forMs) end
  end
  for i = 1, renewals do renewed[i] = string.char(renew(renewed[i])) end
  endOverdue(silentSince + S.offset, graceMs)
  local more, blocked, tokenAt = false, false, huge
  if claims == 1 then
    c = claimFrom()
    more, blocked, tokenAt = claimDue(c, owner)
  end
  for no in pairs(lanes) do shown[#shown + 1] = no end
  flush()

  local nextDue = nextAt(more, tokenAt)
  local list = isBrief == 1 and {} or views()
  local untold = everyone and call('ZCARD', Un) or 0
  local state = pack('>dddBBdddddddddddd', now, S.offset, nextDue < huge and max(0, nextDue - now) or -1, more and 1 or 0, blocked and 1 or 0,
    #trimmed / 2, found.unreadable, S.pending, S.inFlight, S.succeeded, S.exhausted, S.cancelled, S.purged, S.bytes, S.served, untold, S.born)
  local answer = { state, concat(settled), concat(renewed), tasksOf(claimed), tasksOf(ended), list, c and c.gate and c.gate.isRated and c.gate.waitsOf(names) or {}, trimmed, concat(hints) }
  finish()
  return answer
end
