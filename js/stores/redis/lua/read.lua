-- Questions: but for `now` they read no clock, and they change nothing.
--
-- ARGV: head; the name of the question; its own. Answer: what is shown less than what is kept, and what the question asks for.
local questions = {}

-- Ids, rows, records and headers, each as a list; and large bodies.
local function tasksOf(list, withBodies)
  if #list == 0 then return {} end
  local answer = { list }
  for _, key in ipairs(withBodies and { T, R, E, B } or { T, R, E }) do answer[#answer + 1] = call('HMGET', key, unpack(list)) end
  return answer
end

function questions.tasks()
  local list = {}
  for i = 1, tonumber(arg()) do list[i] = arg() end
  return tasksOf(list)
end

function questions.body()
  return tasksOf({ arg() }, true)
end

-- key, tag of a principal or nothing
function questions.find()
  local key, tag = arg(), arg()
  local list = {}
  for _, keeper in ipairs(keepersFrom(call('HGET', K, key))) do
    if tag == '' or keeper.tag == tag then list[#list + 1] = keeper.id end
  end
  return tasksOf(list)
end

-- key, tag of a principal or nothing, most: tasks that have the key or had it, or nothing if there are more
function questions.keyed()
  local key, tag, most = arg(), arg(), tonumber(arg())
  local list = {}
  for _, keeper in ipairs(keepersFrom(call('HGET', K, key))) do
    if tag == '' or keeper.tag == tag then list[#list + 1] = keeper.id end
  end
  local from = CANCELLED_KEY .. key .. tag
  for _, member in ipairs(call('ZRANGEBYLEX', Ls, '[' .. from, '(' .. from .. string.rep('\255', 33), 'LIMIT', 0, most)) do
    list[#list + 1] = sub(member, 34)
  end
  if #list > most then return '' end
  return tasksOf(list)
end

-- 'REV' or nothing, the part of Ls or nothing for all tasks, from where to where, most, statuses as a text of digits or nothing: tasks,
-- the last that was looked at, if there may be more, and how many were
function questions.list()
  local order, part, from, to, most, statuses = arg(), arg(), arg(), arg(), tonumber(arg()), arg()
  local key, members = part == '' and I or Ls, nil
  if order == '' then
    members = call('ZRANGEBYLEX', key, from, to, 'LIMIT', 0, SWEEP)
  else
    members = call('ZRANGE', key, from, to, 'BYLEX', order, 'LIMIT', 0, SWEEP)
  end
  for i = 1, #members do members[i] = sub(members[i], #part + 1) end
  local looked = #members
  local list = {}
  local rest = #members == SWEEP and members[SWEEP] or ''
  local rows = #members > 0 and call('HMGET', T, unpack(members)) or {}
  for i, id in ipairs(members) do
    local row = rows[i]
    if row and (statuses == '' or string.find(statuses, tostring(string.byte(row, 2)), 1, true)) then
      list[#list + 1] = id
      if #list == most then
        looked = i
        if i < #members then rest = id end
        break
      end
    end
  end
  return { tasksOf(list), rest, looked }
end

-- id, most
function questions.history()
  local id, most = arg(), tonumber(arg())
  local row = rowFrom(id, call('HGET', T, id))
  if not row or not isReadable(row) then return {} end
  local fields = {}
  for n = max(1, row.logged - min(most, LOG_LENGTH) + 1), row.logged - 1 do fields[#fields + 1] = id .. pack('>i4', n) end
  local logs = #fields
  for n = max(1, row.noted - min(most, NOTES_LENGTH) + 1), row.noted do fields[#fields + 1] = id .. pack('>i4', -n) end
  local lines = #fields > 0 and call('HMGET', A, unpack(fields)) or {}
  for i = 1, #lines do lines[i] = lines[i] or '' end
  return { pack('>I4I4', row.logged, logs), lines, row.log }
end

-- The instant that a step would have, as it is shown: see `time.lua`.
function questions.now()
  local clock = G.clock
  if clock ~= clock then
    local time = call('TIME')
    clock = time[1] * 1000 + math.floor(time[2] / 1000)
  end
  local highest = S.highWater - S.offset
  return { pack('>d', clock < highest - STEP_MS and clock or max(clock, highest)) }
end

-- cursor, most
function questions.aside()
  local cursor, most = arg(), tonumber(arg())
  local list = call('ZRANGEBYLEX', W, cursor ~= '' and '(' .. cursor or '-', '+', 'LIMIT', 0, most)
  return tasksOf(list)
end

-- most: ends that are to be told, and of those that ended at the last one's moment as many more as may come before some of these
function questions.untold()
  local most = tonumber(arg())
  local list = most > 0 and call('ZRANGE', Un, 0, most - 1) or {}
  local last = list[most] and call('ZSCORE', Un, list[most])
  if last then list = call('ZRANGEBYSCORE', Un, '-inf', last, 'LIMIT', 0, most + SWEEP) end
  return tasksOf(list)
end

-- how many, ids: those of them whose ends are to be told
function questions.untoldAmong()
  local list = {}
  for _ = 1, tonumber(arg()) do
    local id = arg()
    if call('ZSCORE', Un, id) then list[#list + 1] = id end
  end
  return tasksOf(list)
end

-- tag and name of a principal, in a store for everyone: the bytes of its bodies, and, where what is in flight is counted, how many of its tasks
-- wait, are in flight and are dead letters
function questions.own()
  local tag, who = arg(), arg()
  local kept = call('HGET', Sh, tag)
  local held, bytes, runs = 0, 0, 0
  if kept then held, bytes = unpacked('>dd', kept) end
  if S.limited ~= 1 then return { pack('>d', bytes) } end
  if kept and #kept > 16 then runs = select(3, unpacked('>ddd', kept)) end
  local dead = 0 - tonumber(call('ZSCORE', Dc, who) or 0)
  local aside = 0
  if S.pendingAside > 0 then
    for _, id in ipairs(call('ZRANGE', W, 0, -1)) do
      local row = call('ZSCORE', Ls, OWN .. tag .. id) and call('HGET', T, id)
      if row and string.byte(row, 2) == PENDING then aside = aside + 1 end
    end
  end
  return { pack('>dddd', bytes, held - dead - runs - aside, runs, dead) }
end

function questions.counts()
  return { pack('>ddddddddd', S.pending, S.inFlight, S.succeeded, S.exhausted, S.cancelled, S.purged, S.bytes, S.unreadable, S.pendingAside) }
end

-- prefix, version that is known or nothing: the state, and, where it is another, names and entries
function questions.registry()
  local prefix, known = 'e' .. arg(), tonumber(arg())
  local state = call('HGET', Rg, 'v') or pack('>d', 0)
  if known == unpacked('>d', state) then return { state } end
  local kept, list = call('HGETALL', Rg), {}
  for i = 1, #kept, 2 do
    if sub(kept[i], 1, #prefix) == prefix then
      list[#list + 1] = sub(kept[i], 2)
      list[#list + 1] = kept[i + 1]
    end
  end
  return { state, list }
end

function questions.pauses()
  return call('HVALS', F)
end

-- cursor of HSCAN: lanes
function questions.lanes()
  return call('HSCAN', N, arg(), 'COUNT', 500)
end

do --@ main
  local answer = questions[arg()]()
  return { pack('>d', S.offset), answer }
end
