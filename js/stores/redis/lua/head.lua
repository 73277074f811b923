-- What every script begins with: its keys, the store's time, and the changes that it has in mind.
--
-- KEYS, which all scripts are given in this order:
--   M state, T rows, R records, E headers and small bodies, B large bodies, A histories, D due tasks, Z next moments,
--   I ids, O orders, K idempotency keys, X ended tasks, Y dead letters, P parked tasks, W tasks put aside,
--   N lanes, L lane names, Q lanes that may start a task, U those of them without room, V lanes by their next moment,
--   J homes of tasks, H live homes, F paused scopes, Rg the registry,
--   Og how many places in Q each origin has, Un ended tasks whose end is to be told, Sh shares of principals and
--   origins, Wt lines apart in which lanes wait, Ls tasks of one principal (see rows.lua), Dc dead letters of each principal,
--   Ec what each has that has succeeded or was cancelled, C interned records
-- ARGV[1]: what every call says, as `headOf` in scripts.ts packs it.
--
-- Rows and lanes are read, changed in Lua, and written at the end (`flush`), so that a script that fails in between
-- has written nothing. Numbers are big-endian and instants are not negative: bytes compare as the numbers do.
--
-- Functions of a library are made once and outlive a call. Blocks `do --@ fresh` set what belongs to one call, and what a server lacks while a
-- library is loaded: each call begins with them, and then does `do --@ main` (see scripts.ts).
local M, T, R, E, B, A, D, Z, I, O, K, X, Y, P, W, N, L, Q, U, V, J, H, F, Rg, Og, Un, Sh, Wt, Ls, Dc, Ec, C
local call, pack, unpacked, sub, max, min, concat, NONE
local huge, NAN = 1 / 0, 0 / 0
-- values handed to one command: Lua's stack holds no more than 8,000
local MOST = 4000

-- G, S and each row are lists, and `G.name` is an index that the build puts in: a table with forty names costs six times as much to make.
--@ G: layout clock schema sender capacity capacityBytes maxHold terminalMs maxTerminal deadMs maxDead everyone
local G, given
do --@ fresh
  M, T, R, E, B, A, D, Z, I, O, K, X, Y, P, W, N, L, Q, U, V, J, H, F, Rg, Og, Un, Sh, Wt, Ls, Dc, Ec, C = unpack(KEYS)
  call, pack, unpacked, given = redis.call, struct.pack, struct.unpack, 1
  sub, max, min, concat, NONE = string.sub, math.max, math.min, table.concat, string.rep('\0', 16)
  G = { unpacked('>dddc16dddddddB', ARGV[1]) }
end

-- The next of the call's other arguments.
local function arg()
  given = given + 1
  return ARGV[given]
end

-- What the store keeps of itself: these numbers, and the server's history of writes, which is another one after a
-- restart and after a failover. The layout says what older code does not know of and must not overlook: with 2 and 4 all
-- lanes stand in one line, for everyone, and with 3 and 4 there are pauses. `born`: when it was begun, in microseconds, so that
-- a store that was emptied is known for another.
--@ S: layout highWater offset seq token served laneNo homeNo pending inFlight succeeded exhausted cancelled purged bytes unreadable pendingAside perLane ranked limited born history
local STATE, HISTORY_AT = '>ddddddddddddddddddddd', 169
local S
do --@ fresh
  local text = call('GET', M)
  if text then
    S = { unpacked(STATE, text) }
    S.history = sub(text, HISTORY_AT)
  else
    S = { 1 + G.everyone, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, huge, 0, 0, 0, '' }
  end
  if S.layout > G.layout then return redis.error_reply('REDRIVE_NEWER ' .. S.layout) end
  if S.layout % 2 == G.everyone then
    if S.pending + S.inFlight + S.succeeded + S.exhausted + S.cancelled > 0 then
      return redis.error_reply('REDRIVE_LINE ' .. G.everyone)
    end
    S.layout = S.layout + 2 * G.everyone - 1
  end
end

-- Changes of hashes and sorted sets, by key. Each field and member is named once between two writes, but for those of
-- `keep`, of which the last word counts (false: none). `scores`: Redis formats a number with each command that has it, and most of a
-- step's are the same. `hints`: what other processes hear, a byte of the kind, and the id of a task or nothing.
local sets, removals, places, unplaces, kept, scores, hints, hinted
do --@ fresh
  sets, removals, places, unplaces, kept, scores, hints, hinted = {}, {}, {}, {}, {}, {}, {}, {}
end
local function newIn(lists, key)
  lists[key] = {}
  return lists[key]
end
local function put(key, field, value)
  local list = sets[key] or newIn(sets, key)
  local n = #list
  list[n + 1], list[n + 2] = field, value
end
local function remove(key, field)
  local list = removals[key] or newIn(removals, key)
  list[#list + 1] = field
end
local function place(key, member, score)
  local text = scores[score]
  if not text then
    text = string.format('%.17g', score)
    scores[score] = text
  end
  local list = places[key] or newIn(places, key)
  local n = #list
  list[n + 1], list[n + 2] = text, member
end
local function unplace(key, member)
  local list = unplaces[key] or newIn(unplaces, key)
  list[#list + 1] = member
end
local function keep(key, field, value)
  local fields = kept[key] or newIn(kept, key)
  fields[field] = value
end

-- Gives a list for what comes next: the same one, if there was nothing in it.
local function each(command, lists)
  if not next(lists) then return lists end
  for key, list in pairs(lists) do
    for from = 1, #list, MOST do call(command, key, unpack(list, from, min(#list, from + MOST - 1))) end
  end
  return {}
end

local function write()
  if next(kept) then
    for key, fields in pairs(kept) do
      for field, value in pairs(fields) do
        if value then put(key, field, value) else remove(key, field) end
      end
    end
    kept = {}
  end
  removals = each('HDEL', removals)
  sets = each('HSET', sets)
  unplaces = each('ZREM', unplaces)
  places = each('ZADD', places)
end

local function hint(kind, id)
  if not id and hinted[kind] then return end
  if not id then hinted[kind] = true end
  hints[#hints + 1] = kind .. pack('>I4', #(id or '')) .. (id or '')
end
