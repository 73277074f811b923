/** The scripts that run inside Redis: one for each kind of call, put together from parts that they share. */

import { createHash } from 'node:crypto'
import {
  CHANCE_MS,
  CLOCK_STEP_MS,
  ENDED_BYTES,
  LANES_SHOWN,
  LOG_LENGTH,
  LOOKED_AT,
  MARK_ACCEPTED,
  MOST_REFUNDS,
  NOTES_LENGTH,
  SHUT_LOOKED_AT,
  SILENCE_MS,
  SWEEP,
} from '../../api/store.ts'
import { MARK_SEE_OTHER, MARK_UNANSWERED } from '../../core/generated/codes.ts'
import {
  CLAIM,
  CONTROL,
  ENDS,
  ENQUEUE,
  HEAD,
  KEYS,
  LANES,
  LEASES,
  LIMITS,
  LINE,
  READ,
  RETENTION,
  ROWS,
  SETTLE,
  SHARES,
  SWEEP as SWEEPS,
  TASKS,
  TIME,
  TURN,
} from './generated/lua.ts'

/** The highest layout of what is kept that is known here: see `STATE` in lua/head.lua. A store that finds a higher one rejects with 'STORAGE_NEWER'. */
export const LAYOUT = 4
/** Records that tasks may share; more lie with their tasks. */
const MOST_RECORDS = 1_024

/** Bodies up to this size lie beside the headers of their task, and come with its claim. */
export const SMALL_BODY = 4_096

/**
 * Where another server has taken over, tokens go on from the store's time at so many a millisecond: more than any server can have given
 * since another leaped, so that of two that lack each other's tokens the later gives none of the earlier one's. Exact until 2109.
 */
const TOKENS_A_MS = 2 ** 11
/** At least so many are left out, whatever the clock says. */
const LEAP = 2 ** 20

/** Names in the scripts that stand for values of the contract. */
const VALUES: Readonly<Record<string, number | string>> = {
  STEP_MS: CLOCK_STEP_MS,
  ENDED_BYTES,
  CHANCE_MS,
  SILENCE_MS,
  LOG_LENGTH,
  NOTES_LENGTH,
  SWEEP,
  LOOKED_AT,
  SHUT_LOOKED_AT,
  LANES_SHOWN,
  MOST_REFUNDS,
  MARK_ACCEPTED,
  MARK_SEE_OTHER,
  MARK_UNANSWERED,
  MOST_RECORDS,
  LEAP,
  TOKENS_A_MS,
  SMALL_BODY,
  NEEDS: "'needs '",
}

export interface Script {
  readonly name: 'enqueue' | 'turn' | 'control' | 'read'
  /** For EVAL, which makes each of its functions with every call. */
  readonly source: string
  readonly sha: string
  /** Registers its function in a library, under a name that ends with `hash`. */
  readonly registers: (hash: string) => string
}

/** `flag`: one of https://redis.io/docs/latest/develop/programmability/lua-api/#script_flags; what frees room, or only keeps books, runs when memory is full. */
function script(name: Script['name'], flag: string, ...parts: readonly string[]): Script {
  const text = parts.join('\n').replace(/\b[A-Z_]{4,}\b/g, (word) => String(VALUES[word] ?? word))
  const made = `local fresh,main={};
(function()
${text}
end)()
local run=function()
for i=1,#fresh do
local no=fresh[i]()
if no then return no end
end
return main()
end
`
  const source = `#!lua${flag && ` flags=${flag}`}\n${made}return run()`
  const registers = (hash: string): string => `do
local KEYS,ARGV
${made}redis.register_function{function_name='redrive_${name}_${hash}',flags={${flag && `'${flag}'`}},callback=function(keys,args)
KEYS,ARGV=keys,args
return run()
end}
end
`
  return { name, source, sha: createHash('sha1').update(source).digest('hex'), registers }
}

/**
 * `rest` in a function of its own. To make a function, Lua searches the locals of the enclosing one for each that it uses, one by one.
 * Those of `base` are found once, for the outer function; the inner ones take them from there.
 */
const nested = (base: readonly string[], rest: readonly string[]): readonly string[] => [
  ...base,
  'return (function()',
  ...rest,
  'end)()',
]

const BASE = [HEAD, TIME]
const TASKS_BASE = [SHARES, LANES, ROWS, KEYS, TASKS]
const FREES = 'allow-oom'

export const enqueueScript: Script = script('enqueue', '', ...nested(BASE, [...TASKS_BASE, ENQUEUE]))
export const turnScript: Script = script(
  'turn',
  FREES,
  ...nested(BASE, [...TASKS_BASE, ENDS, RETENTION, SWEEPS, SETTLE, CLAIM, LIMITS, LINE, LEASES, TURN]),
)
export const controlScript: Script = script(
  'control',
  FREES,
  ...nested(BASE, [...TASKS_BASE, ENDS, RETENTION, CONTROL]),
)
export const readScript: Script = script('read', 'no-writes', HEAD, ROWS, KEYS, READ)

const registered = (hash: string): string =>
  [enqueueScript, turnScript, controlScript, readScript].map(({ registers }) => registers(hash)).join('')
const hash = createHash('sha1').update(registered('')).digest('hex').slice(0, 16)

/** For FCALL: functions that are made once, when it is loaded. Its name has the hash of its text, so that versions run side by side. */
export const library: { readonly hash: string; readonly source: string } = {
  hash,
  source: `#!lua name=redrive_${hash}\n${registered(hash)}`,
}

/** The keys of a store, in the order in which the scripts name them; all under one hash tag, so that a cluster keeps them together. */
export const keysOf = (name: string): readonly string[] =>
  [...'mtrebadziokxypwnlquvjhfgsESWLDXc'].map((letter) => `{redrive:${name}}:${letter}`)

export const channelOf = (name: string): string => `{redrive:${name}}:h`
/** Where messages between processes are heard. */
export const messagesOf = (name: string): string => `{redrive:${name}}:v`

/** The commands that the scripts give: a test holds this list to their text. */
export const COMMANDS: readonly string[] = (
  'GET SET HGET HMGET HSET HDEL HINCRBY HLEN HKEYS HVALS HGETALL HEXISTS HSCAN ' +
  'ZADD ZREM ZINCRBY ZRANGE ZRANGEBYLEX ZRANGEBYSCORE ZREMRANGEBYSCORE ZCARD ZCOUNT ZSCORE TIME INFO SPUBLISH'
).split(' ')

/** Says which of the commands in ARGV its user may not give. */
export const RIGHTS = `#!lua flags=no-writes
local lacking = {}
for _, name in ipairs(ARGV) do
  if not redis.acl_check_cmd(name, KEYS[1], '0', '0') then lacking[#lacking + 1] = '+' .. string.lower(name) end
end
return table.concat(lacking, ' ')`
