-- One step of the limits that replicas share, on the clock of the server. All keys of a call bear its account as their hash
-- tag. A number of zero is no limit.
--
-- take, settle, refund, peek
--   KEYS  for each gate: a hash of its buckets, a sorted set of its places (leases by the time they end)
--   ARGV  mode, milliseconds that a lease holds, lease, tokens of the call, tokens it has used; then for each gate its places,
--         requests a minute, requests a day, tokens a minute
--   take counts in all gates or in none. settle ends a call and corrects its tokens, refund ends one that never ran: either
--   does so once, for the first gate always has a place to give back. peek only looks.
--   They answer 0, or 10 times the gate and what was met there (1 places, 2 requests, 3 day, 4 tokens); the microseconds to
--   wait; then for each gate how many run, and of its three buckets what is left and the microseconds until they are full.
-- carry   KEYS  one gate as in take     ARGV  mode, milliseconds, requests of the minute, tokens, requests of the day; then the
--                                             gate's four limits: what a replica let through while it was alone
-- renew   KEYS  one set of places      ARGV  mode, milliseconds, leases
-- drop    KEYS  as take                ARGV  mode, milliseconds, lease

local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local ms = math.floor(now / 1000)
local mode, hold = ARGV[1], tonumber(ARGV[2])
local ends = string.format('%.0f', ms + hold)
local dust = 0.000001

if mode == 'renew' then
  for i = 3, #ARGV do
    redis.call('ZADD', KEYS[1], ends, ARGV[i])
  end
  redis.call('PEXPIRE', KEYS[1], hold)
  return {0, 0}
end
if mode == 'drop' then
  for i = 2, #KEYS, 2 do
    redis.call('ZREM', KEYS[i], ARGV[3])
  end
  return {0, 0}
end

local lease, tokens, used = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local names, periods = {'r', 'd', 't'}, {60000000, 86400000000, 60000000}

-- A bucket whose hash has expired is full, and so is one that had no limit. A changed limit starts with its share of what was
-- left. A clock that was set back gives nothing.
local function load_gate(number)
  local from = 6 + (number - 1) * 4
  local gate = {buckets = KEYS[number * 2 - 1], places = KEYS[number * 2], most = tonumber(ARGV[from]), limit = {}, level = {}, running = 0}
  local counted = 0
  for k = 1, 3 do
    gate.limit[k] = tonumber(ARGV[from + k])
    gate.level[k] = gate.limit[k]
    counted = counted + gate.limit[k]
  end
  gate.counts = counted > 0
  if not gate.counts then
    return gate
  end
  local saved = redis.call('HMGET', gate.buckets, 'at', 'r', 'R', 'd', 'D', 't', 'T')
  local gone = 0
  if saved[1] then
    gone = math.max(0, now - tonumber(saved[1]))
  end
  for k = 1, 3 do
    local level, limit = saved[k * 2], gate.limit[k]
    local was = saved[k * 2 + 1] and tonumber(saved[k * 2 + 1]) or 0
    if limit > 0 and level and was > 0 then
      gate.level[k] = math.min(limit, tonumber(level) * limit / was + gone / periods[k] * limit)
    end
  end
  return gate
end

local function save_gate(gate)
  if not gate.counts then
    return
  end
  local fields, full = {'at', string.format('%.0f', now)}, 0
  for k = 1, 3 do
    local limit = gate.limit[k]
    fields[#fields + 1] = names[k]
    fields[#fields + 1] = string.format('%.6f', gate.level[k])
    fields[#fields + 1] = string.upper(names[k])
    fields[#fields + 1] = string.format('%.0f', limit)
    if limit > 0 then
      full = math.max(full, (limit - gate.level[k]) / limit * periods[k])
    end
  end
  redis.call('HSET', gate.buckets, unpack(fields))
  redis.call('PEXPIRE', gate.buckets, string.format('%.0f', math.ceil(full / 1000) + 1000))
end

local function spend(gate, k, n)
  local limit = gate.limit[k]
  if limit > 0 then
    gate.level[k] = math.min(limit, math.max(-limit, gate.level[k] - n))
  end
end

-- A call that is larger than a whole period needs a full one, or it could never be made.
local function need(gate, k, n)
  return math.min(n, gate.limit[k])
end

local function met(gate)
  if gate.most > 0 and gate.running >= gate.most then
    return 1, 0
  end
  for k = 1, 3 do
    local limit, n = gate.limit[k], 1
    if k == 3 then
      n = tokens
    end
    local missing = need(gate, k, n) - gate.level[k]
    if limit > 0 and missing > dust then
      return k + 1, math.ceil(missing / limit * periods[k])
    end
  end
  return 0, 0
end

local gates, answer = {}, {0, 0}
for number = 1, #KEYS / 2 do
  local gate = load_gate(number)
  gates[number] = gate
  if gate.most > 0 then
    if mode == 'take' then
      redis.call('ZREMRANGEBYSCORE', gate.places, '-inf', string.format('%.0f', ms))
    end
    gate.running = redis.call('ZCOUNT', gate.places, string.format('(%.0f', ms), '+inf')
  end
  if mode == 'take' and answer[1] == 0 then
    local what, wait = met(gate)
    if what > 0 then
      answer = {number * 10 + what, wait}
    end
  end
end

if mode == 'take' and answer[1] == 0 then
  for _, gate in ipairs(gates) do
    if gate.most > 0 then
      redis.call('ZADD', gate.places, ends, lease)
      redis.call('PEXPIRE', gate.places, hold)
      gate.running = gate.running + 1
    end
    spend(gate, 1, 1)
    spend(gate, 2, 1)
    spend(gate, 3, need(gate, 3, tokens))
    save_gate(gate)
  end
elseif mode == 'carry' then
  -- No bucket is emptied below zero: from now on the rate holds, and no caller has to wait for what others let through.
  local used_alone = {tonumber(ARGV[3]), tonumber(ARGV[5]), tonumber(ARGV[4])}
  for k = 1, 3 do
    local level = gates[1].level[k]
    gates[1].level[k] = math.max(math.min(level, 0), level - used_alone[k])
  end
  save_gate(gates[1])
elseif mode == 'settle' or mode == 'refund' then
  local held = redis.call('ZREM', gates[1].places, lease)
  for number, gate in ipairs(gates) do
    if number > 1 and gate.most > 0 then
      redis.call('ZREM', gate.places, lease)
    end
    if held == 1 then
      spend(gate, 3, used - need(gate, 3, tokens))
      if mode == 'refund' then
        spend(gate, 1, -1)
        spend(gate, 2, -1)
      end
      save_gate(gate)
    end
  end
end

for _, gate in ipairs(gates) do
  answer[#answer + 1] = gate.running
  for k = 1, 3 do
    local limit = gate.limit[k]
    answer[#answer + 1] = math.max(0, math.floor(gate.level[k] + dust))
    answer[#answer + 1] = limit > 0 and math.floor((limit - gate.level[k]) / limit * periods[k]) or 0
  end
end
return answer
