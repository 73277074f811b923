-- What every script begins with: its keys, the store's time, and the changes that it has in mind.
--
-- KEYS, which all scripts are given in this order:
--   M state, T rows, R records, E headers and small bodies, B large bodies, A histories, D due tasks, Z next moments,
--   I ids, O orders, K idempotency keys, X ended tasks, Y dead letters, P parked tasks, W tasks put aside,
--   N lanes, L lane names, Q lanes that may start a task, U those of them without room, V lanes by their next moment,
--   J homes of tasks, H live homes, C interned records
-- ARGV[1]: what every call says, as `headOf` in scripts.ts packs it.
--
-- Rows and lanes are read, changed in Lua, and written at the end (`flush`), so that a script that fails in between
-- has written nothing. Numbers are big-endian and instants are not negative: bytes compare as the numbers do.
local M, T, R, E, B, A, D, Z, I, O, K, X, Y, P, W, N, L, Q, U, V, J, H, C = unpack(KEYS)
local call, pack, unpacked, huge = redis.call, struct.pack, struct.unpack, math.huge
local sub, max, min, concat = string.sub, math.max, math.min, table.concat
local NAN = 0 / 0
local NONE = string.rep('\0', 16)
-- values handed to one command: Lua's stack holds no more than 8,000
local MOST = 4000

local G = {}
G.layout, G.clock, G.schema, G.sender, G.capacity, G.capacityBytes, G.maxHold, G.terminalMs, G.maxTerminal, G.deadMs, G.maxDead =
  unpacked('>dddc16ddddddd', ARGV[1])

-- The next of the call's other arguments.
local given = 1
local function arg()
  given = given + 1
  return ARGV[given]
end

-- What the store keeps of itself: these numbers, and the server's history of writes, which is another one after a
-- restart and after a failover.
local STATE = {
  'layout', 'highWater', 'offset', 'seq', 'token', 'served', 'laneNo', 'homeNo',
  'pending', 'inFlight', 'succeeded', 'exhausted', 'cancelled', 'purged', 'bytes',
  'unreadable', 'pendingAside', 'perLane', 'ranked',
}
local STATE_AS = '>ddddddddddddddddddd'
local S = { history = '' }
do
  local text = call('GET', M)
  local values = text and { unpacked(STATE_AS, text) } or {}
  for i = 1, #STATE do S[STATE[i]] = values[i] or 0 end
  if text then
    S.history = sub(text, 8 * #STATE + 1)
  else
    S.layout, S.highWater, S.perLane = G.layout, -1, huge
  end
end
if S.layout > G.layout then return redis.error_reply('REDRIVE_NEWER ' .. S.layout) end

-- Changes of hashes and sorted sets, by key. Each field and member is named once between two writes, but for those of
-- `keep`, of which the last word counts (false: none).
local sets, removals, places, unplaces, kept
local LISTS = { __index = function(lists, key)
  local list = {}
  lists[key] = list
  return list
end }
local function forget()
  sets, removals, places, unplaces, kept =
    setmetatable({}, LISTS), setmetatable({}, LISTS), setmetatable({}, LISTS), setmetatable({}, LISTS), setmetatable({}, LISTS)
end
forget()
local function put(key, field, value)
  local list = sets[key]
  local n = #list
  list[n + 1], list[n + 2] = field, value
end
local function remove(key, field)
  local list = removals[key]
  list[#list + 1] = field
end
-- Redis writes out a number each time it is handed one, and most of a step's are the same.
G.scores = setmetatable({}, { __index = function(scores, score)
  scores[score] = string.format('%.17g', score)
  return scores[score]
end })
local function place(key, member, score)
  local list = places[key]
  local n = #list
  list[n + 1], list[n + 2] = G.scores[score], member
end
local function unplace(key, member)
  local list = unplaces[key]
  list[#list + 1] = member
end
local function keep(key, field, value)
  kept[key][field] = value
end

local function each(command, lists)
  for key, list in pairs(lists) do
    for from = 1, #list, MOST do call(command, key, unpack(list, from, min(#list, from + MOST - 1))) end
  end
end

local function write()
  for key, fields in pairs(kept) do
    for field, value in pairs(fields) do
      if value then put(key, field, value) else remove(key, field) end
    end
  end
  each('HDEL', removals)
  each('HSET', sets)
  each('ZREM', unplaces)
  each('ZADD', places)
  forget()
end

-- What other processes are told: a byte of the kind, and the id of a task or nothing.
local hints, hinted = {}, {}
local function hint(kind, id)
  if not id then
    if hinted[kind] then return end
    hinted[kind] = true
  end
  if not id then
    hints[#hints + 1] = kind .. '\0\0\0\0'
  elseif #id == 16 then
    hints[#hints + 1] = kind .. '\0\0\0\16' .. id
  else
    hints[#hints + 1] = kind .. pack('>I4', #id) .. id
  end
end
