-- What users ask for: cancel, redrive, flush, unpark, due, purge, homes, the registry, pauses, and records that a client could not read.
--
-- ARGV: head; the name of the command; its own. Answer: state, what the command says, hints.
local commands = {}

-- id, reason or nothing, something if it is the caller's
function commands.cancel()
  local id, reason, isCallers = arg(), arg(), arg() ~= ''
  local row = rowOf(id)
  if not row or row.aside == 1 or not isReadable(row) then return 'gone' end
  if isCallers and isLive(row) and isAccepted(row) then return 'requested' end
  if row.status == IN_FLIGHT then
    row.asked = 1
    save(row)
    hint('c', id)
    return 'requested'
  end
  if row.status ~= PENDING then return 'gone' end
  endUnasked(row, reason ~= '' and reason or nil)
  return 'cancelled'
end

-- Until when a dead letter that goes back now may be tried.
local function deadlineFor(row, budgetMs, keyTtlMs, isKeyed, expiresAfter)
  local keyAt = isKeyed and row.first == row.first and row.first or huge
  if keyAt + keyTtlMs < now then return nil end
  local expires = REASONS[row.why] == 'expired' and row.deadline ~= 0 and row.deadline or huge
  if expiresAfter < huge then expires = row.created + S.offset + expiresAfter end
  local at, why = now + budgetMs, 0
  if expires < at then at, why = expires, 1 end
  if keyAt + keyTtlMs < at then at, why = keyAt + keyTtlMs, 2 end
  return at, why
end

-- spacing, how many, how many went back before; of each: budget, lifetime of the key, attempts, when it expires, whether its key counts, record as it was, id; record as it becomes
function commands.redrive()
  local spacing, many, back = unpacked('>dI4I4', arg())
  local said = {}
  for i = 1, many do
    local packed, record = arg(), arg()
    local budgetMs, keyTtlMs, most, expiresAfter, isKeyed, was, at = unpacked('>ddddBI4', packed)
    local old = sub(packed, at, at + was - 1)
    local id = sub(packed, at + was)
    local row = rowOf(id)
    if not row or warm(row).aside == 1 or row.status ~= EXHAUSTED or not isReadable(row) then
      said[i] = 'gone'
    elseif call('HGET', R, id) ~= old then
      said[i] = 'again'
    else
      local deadline, why = deadlineFor(row, budgetMs, keyTtlMs, isKeyed == 1, expiresAfter)
      if not deadline then
        said[i] = 'key_expired'
      elseif row.end0 == Un then
        said[i] = 'untold'
      else
        put(R, id, record)
        row.most = most
        row.turn = now + back * spacing
        back = back + 1
        become(row, PENDING)
        S.seq = S.seq + 1
        row.seq = S.seq
        lineUp(row)
        row.reason = ''
        row.attempt = 0
        note(row, 'redriven', '')
        row.refunds, row.phase, row.delay, row.marks = 0, -1, 0, bit.band(row.marks, MARK_SEE_OTHER)
        row.server = -huge
        row.deadline, row.why = deadline, why
        row.ended = NAN
        save(row)
        hint('d')
        said[i] = 'redriven'
      end
    end
  end
  return said
end

local function makeDue(row, at)
  warm(row).parked = 0
  row.turn = max(at, row.server)
  if row.behind == 0 then
    if not (row.turn >= row.due) then hint('d') end
    row.due = row.turn
  end
  save(row)
end

-- in how long, how many; each id
function commands.due()
  local inMs, said, ids = tonumber(arg()), {}, {}
  for i = 1, tonumber(arg()) do ids[i] = arg() end
  load(ids)
  for i, id in ipairs(ids) do
    local row = rowOf(id)
    local isHere = row and row.status == PENDING and row.aside == 0 and isReadable(row)
    if isHere then makeDue(row, now + inMs) end
    said[i] = isHere and 1 or 0
  end
  return said
end

-- how many; of each end that was told: when it was, and id
function commands.told()
  local ends, ids = {}, {}
  for i = 1, tonumber(arg()) do
    local packed = arg()
    local ended, at = unpacked('>d', packed)
    ids[i] = sub(packed, at)
    ends[i] = ended + S.offset
  end
  load(ids)
  for i, id in ipairs(ids) do
    local row = rowOf(id)
    if row and row.end0 == Un and row.ended == ends[i] then
      row.tells = TOLD
      save(row)
    end
  end
  return 0
end

-- The next part of a walk along a set, and where the one after it begins: nothing, if there is none.
local function part(key, from, last)
  local members = call('ZRANGEBYLEX', key, from, last, 'LIMIT', 0, SWEEP)
  return members, #members == SWEEP and '(' .. members[SWEEP] or ''
end

-- The same of one lane, or of all where none is named.
local function partOfLane(key, cursor, name)
  local from, last = '-', '+'
  if name ~= '' then
    local no = call('HGET', L, name)
    if not no then return {}, '' end
    from, last = '[' .. no, '(' .. pack('>I4', unpacked('>I4', no) + 1)
  end
  return part(key, cursor ~= '' and cursor or from, last)
end

-- cursor, lane or nothing
function commands.flush()
  local cursor, name = arg(), arg()
  local members, rest = partOfLane(D, cursor, name)
  local list, count = {}, 0
  for _, member in ipairs(members) do
    local _, due, _, at = unpacked('>I5dd', member, 9)
    if due > now then list[#list + 1] = sub(member, at) end
  end
  load(list)
  for _, id in ipairs(list) do
    local row = rowOf(id)
    if row and isReadable(row) and row.due > max(now, warm(row).server) then
      makeDue(row, now)
      count = count + 1
    end
  end
  return { count, rest }
end

-- cursor, lane or nothing, tag of a principal or nothing
function commands.unpark()
  local cursor, name, tag = arg(), arg(), arg()
  local members, rest = partOfLane(P, cursor, name)
  local list, count = {}, 0
  for i, member in ipairs(members) do list[i] = sub(member, 13) end
  load(list)
  for _, id in ipairs(list) do
    local row = rowOf(id)
    if row and (tag == '' or laneOf(row).tag == tag) then
      makeDue(row, now)
      count = count + 1
    end
  end
  return { count, rest }
end

-- cursor, tag of a principal or nothing, status or nothing
function commands.purge()
  local cursor, tag, status = arg(), arg(), arg()
  local members, rest
  if tag == '' then
    members, rest = part(I, cursor ~= '' and cursor or '-', '+')
  else
    local own = OWN .. tag
    members, rest = part(Ls, cursor ~= '' and cursor or '[' .. own, '(' .. own .. string.rep('\255', 17))
    for i = 1, #members do members[i] = sub(members[i], #own + 1) end
  end
  load(members)
  local count = 0
  for _, id in ipairs(members) do
    local row = rowOf(id)
    if row and (tag == '' or laneOf(row).tag == tag) and (status == '' or row.status == tonumber(status)) then
      erase(row)
      count = count + 1
    end
  end
  return { count, rest }
end

-- id, tag of a principal or nothing, status or nothing
function commands.erase()
  local row, tag, status = rowOf(arg()), arg(), arg()
  if not row or (tag ~= '' and laneOf(row).tag ~= tag) or (status ~= '' and row.status ~= tonumber(status)) then return 0 end
  erase(row)
  return 1
end

-- how many
function commands.give()
  return giveWay(tonumber(arg()))
end

-- owner, for how long
function commands.home()
  local owner, forMs = arg(), tonumber(arg())
  if forMs > 0 then place(H, owner, now + forMs) else unplace(H, owner) end
  return 0
end

function commands.homes()
  call('ZREMRANGEBYSCORE', H, '-inf', string.format('%.17g', now))
  return call('ZRANGE', H, 0, -1)
end

-- name, a name of this call alone, the version that it has to have or nothing, value or nothing
function commands.write()
  local name, nonce, expected, value = 'e' .. arg(), arg(), arg(), arg()
  local state, entry = call('HGET', Rg, 'v') or '', call('HGET', Rg, name) or ''
  -- it was done, and the answer lost
  if sub(state, 9) == nonce or sub(entry, 9, 24) == nonce then return 'written' end
  if expected ~= '' and tonumber(expected) ~= (entry ~= '' and unpacked('>d', entry) or 0) then return 'changed' end
  if sub(entry, 25) == value then return 'written' end
  local version = pack('>d', 1 + (state ~= '' and unpacked('>d', state) or 0)) .. nonce
  put(Rg, 'v', version)
  if value == '' then remove(Rg, name) else put(Rg, name, version .. value) end
  return 'written'
end

-- id, packed scope and pause
function commands.pause()
  -- one that is replaced may have had another scope
  if call('HSET', F, arg(), arg()) == 0 then hint('d') end
  if S.layout < 3 then S.layout = S.layout + 2 end
  return 0
end

-- id
function commands.lift()
  local lifted = call('HDEL', F, arg())
  if lifted == 1 then hint('d') end
  if S.layout > 2 and call('HLEN', F) == 0 then S.layout = S.layout - 2 end
  return lifted
end

-- of each: token and id, of what was claimed; 0, of what was not
function commands.aside()
  for i = 1, tonumber(arg()) do
    local packed = arg()
    local token, at = unpacked('>d', packed)
    local row = rowOf(sub(packed, at))
    if row and (token == 0 or (row.status == IN_FLIGHT and row.token == token)) and isLive(row) then setAside(row, true) end
  end
  return found.unreadable
end

-- of each: tag and text
function commands.records()
  for _ = 1, tonumber(arg()) do
    local tag, text = arg(), arg()
    if call('HEXISTS', C, tag) == 0 and call('HLEN', C) >= MOST_RECORDS then return 0 end
    call('HSET', C, tag, text)
  end
  return 1
end

do --@ main
  local said = commands[arg()]()
  finish()
  return { pack('>dd', now, S.offset), said, concat(hints) }
end
