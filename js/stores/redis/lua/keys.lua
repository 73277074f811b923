-- Who keeps an idempotency key: a task for each principal that has used it. Most keys have one, so they stay packed.
local keepers
do --@ fresh
  keepers = {}
end
local function keeperAs(tag, id)
  return pack('>c16I4', tag, #id) .. id
end
local function keepersFrom(kept)
  local list, at = {}, 1
  while kept and at <= #kept do
    local keeper, bytes = {}, nil
    keeper.tag, bytes, at = unpacked('>c16I4', kept, at)
    keeper.id = sub(kept, at, at + bytes - 1)
    at = at + bytes
    list[#list + 1] = keeper
  end
  return list
end
local function loadKeepers(keys)
  local wanted = {}
  for _, key in ipairs(keys) do
    if key ~= NONE and not keepers[key] then
      keepers[key] = ''
      wanted[#wanted + 1] = key
    end
  end
  for from = 1, #wanted, MOST do
    local kept = call('HMGET', K, unpack(wanted, from, min(#wanted, from + MOST - 1)))
    for i = 1, #kept do keepers[wanted[from + i - 1]] = kept[i] or '' end
  end
end
local function keepersOf(key)
  if not keepers[key] then keepers[key] = call('HGET', K, key) or '' end
  return keepers[key]
end
local function keepKeepers(key, packed)
  keepers[key] = packed
  keep(K, key, packed ~= '' and packed)
end
