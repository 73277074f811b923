-- Shares: how much each principal and each origin has of a store for everyone, and the tokens that the lanes of an origin share. A
-- principal goes by its tag, an origin by its name. A lane gathers what changes of them, and the end of the script puts it together.
local everyone, shares, more, gaining
do --@ fresh
  everyone, shares, more, gaining = S.layout % 2 == 0 and string.rep('\1', 16), {}, {}, {}
end

-- Tasks pending, in flight or dead letters, the bytes of their bodies, and how many are in flight; of an origin the last alone. Then its tokens.
-- How many are in flight is counted from the first claim on that has limits (S.limited).
-- NEXT: of a principal a turn after the last tag of its lanes (see engine/turns.ts); of one that the line has not passed yet nothing has to be known.
local HELD, BYTES, RUNS, TAT, TOKEN_AT, NEXT = 1, 2, 3, 4, 5, 6
-- One that is nothing but the first two is kept so: that is half the work.
local SHARE, SHORT = '>dddddd', '>dd'
local SHORT_BYTES = 16
local function originOf(name)
  return string.match(name, '^[^ ]*')
end

local function loadShares(names)
  local wanted = {}
  for i = 1, #names do
    if not shares[names[i]] then wanted[#wanted + 1] = names[i] end
  end
  for from = 1, #wanted, MOST do
    local found = call('HMGET', Sh, unpack(wanted, from, min(#wanted, from + MOST - 1)))
    for i = 1, #found do
      local held, bytes, runs, tat, tokenAt, tag = 0, 0, 0, -huge, -huge, 0
      if not found[i] then
        -- none has anything
      elseif #found[i] == SHORT_BYTES then
        held, bytes = unpacked(SHORT, found[i])
      else
        held, bytes, runs, tat, tokenAt, tag = unpacked(SHARE, found[i])
      end
      shares[wanted[from + i - 1]] = { held, bytes, runs, tat, tokenAt, tag }
    end
  end
end

local function shareOf(name)
  if not shares[name] then loadShares({ name }) end
  return shares[name]
end

local function moreOf(name)
  local by = more[name]
  if not by then
    by = { 0, 0, 0 }
    more[name] = by
  end
  return by
end

-- Says that a task of the lane has become another one: each number is by how much.
local function gainShare(lane, held, bytes, runs)
  local by = gaining[lane]
  if not by then
    by = { 0, 0, 0 }
    gaining[lane] = by
  end
  by[1], by[2], by[3] = by[1] + held, by[2] + bytes, by[3] + runs
end

-- Puts what lanes have gathered to those that it is of.
local function gatherShares()
  if not next(gaining) then return end
  for lane, by in pairs(gaining) do
    if by[1] ~= 0 or by[2] ~= 0 or by[3] ~= 0 then
      local own = moreOf(lane.tag)
      own[1], own[2], own[3] = own[1] + by[1], own[2] + by[2], own[3] + by[3]
      if by[3] ~= 0 then
        local its = moreOf(originOf(lane.name))
        its[3] = its[3] + by[3]
      end
    end
  end
  gaining = {}
end

-- One of the first three numbers of a share, as of now.
local function partOf(name, part)
  gatherShares()
  return shareOf(name)[part] + (more[name] and more[name][part] or 0)
end

-- The first tag that the line has not passed.
local function firstTag()
  return max(0, S.served - 1)
end

-- Gives a lane the next tag of its principal.
local function takeTag(lane)
  local held = partOf(lane.tag, HELD)
  local share = shareOf(lane.tag)
  lane.served = max(firstTag(), min(share[NEXT], S.served + 2 * held))
  share[NEXT] = lane.served + 2
  moreOf(lane.tag)
end

local function writeShares()
  gatherShares()
  if not next(more) then return end
  local names = {}
  for name in pairs(more) do names[#names + 1] = name end
  loadShares(names)
  for name, by in pairs(more) do
    local share = shares[name]
    local held, bytes, runs, tat = max(0, share[HELD] + by[HELD]), max(0, share[BYTES] + by[BYTES]), max(0, share[RUNS] + by[RUNS]), share[TAT]
    if held == 0 and runs == 0 and tat <= now and share[NEXT] <= firstTag() then
      remove(Sh, name)
    elseif runs == 0 and tat <= now and share[NEXT] <= firstTag() then
      put(Sh, name, pack(SHORT, held, bytes))
    else
      put(Sh, name, pack(SHARE, held, bytes, runs, tat, share[TOKEN_AT], share[NEXT]))
    end
    shares[name] = nil
  end
  more = {}
  write()
end
