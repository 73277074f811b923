/** Turns what a server or a client throws into an error of the package, which names the store and says what to do about it. */

import { RedriveError } from '../../api/errors.ts'
import { StorageFullError } from '../../api/task-errors.ts'

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** The code that a server's error begins with: 'NOSCRIPT', 'OOM', 'READONLY'. A script's own errors have none before theirs. */
export const codeOf = (error: unknown): string => /^(?:ERR )?([A-Z_]+)/.exec(messageOf(error))?.[1] ?? ''

/** The script is not there any more: the server was started anew, or its scripts were flushed. */
export const isUnknownScript = (error: unknown): boolean => codeOf(error) === 'NOSCRIPT'

/** The library is not there: it was never loaded, or flushed. */
export const isUnknownFunction = (error: unknown): boolean => /^ERR Function not found/.test(messageOf(error))

/** The server has no functions, or its user may not call them. */
export const isWithoutFunctions = (error: unknown): boolean =>
  /^(?:ERR unknown command|NOPERM) .*\bfcall\b/i.test(messageOf(error))

/** The server refused the call before it did anything: it may be sent again, whatever it was. */
const REFUSED = new Set([
  'LOADING',
  'BUSY',
  'READONLY',
  'CLUSTERDOWN',
  'TRYAGAIN',
  'MASTERDOWN',
  'NOREPLICAS',
  'MISCONF',
  'NOT_READY',
])

export const isRefused = (error: unknown): boolean =>
  REFUSED.has(codeOf(error)) || (error as { readonly code?: unknown } | null)?.code === 'NOT_READY'

/** A script met a command that its user may not give; the server does not say which. */
export const isWithoutRight = (error: unknown): boolean => /can't run this command/.test(messageOf(error))

/** A script met commands that its user may not give: these. */
export class NoRight extends Error {
  override readonly name = 'NoRight'
  /** In the words of an ACL: '+zadd +zrem'. */
  readonly commands: string

  constructor(commands: string, cause: unknown) {
    super(`NOPERM ${commands}`, { cause })
    this.commands = commands
  }
}

/** The server has said no, and would say so again. */
export const isFinal = (error: unknown): boolean =>
  error instanceof RedriveError ||
  /^(?:(?:ERR|OOM|NOPERM|NOAUTH|WRONGPASS|WRONGTYPE|CROSSSLOT|NOPROTO)\b|REDRIVE_)/.test(messageOf(error))

const ADVICE: Readonly<Record<string, string>> = {
  READONLY:
    'the server is a replica, which takes no writes; connect to the primary, or use a Sentinel or Cluster client',
  LOADING: 'the server is still reading its data; it will answer once it has',
  BUSY: 'another client runs a script that does not end; SCRIPT KILL or FUNCTION KILL ends it',
  CLUSTERDOWN: 'the cluster does not serve all slots; look at CLUSTER INFO',
  TRYAGAIN: 'the slot of the store is being moved; it will answer once that is done',
  MASTERDOWN: 'the primary is down; a failover will bring another',
  NOREPLICAS: 'fewer replicas are connected than min-replicas-to-write asks for',
  MISCONF: 'the server cannot write its data to disk; look at its log, and make room there',
  NOAUTH: 'the client has not said a password; give it one',
  WRONGPASS: 'the password of the client is wrong',
  WRONGTYPE: 'other code keeps something else under its keys; give another name',
  CROSSSLOT: 'the client sends keys of one store to several slots; give the client of the cluster, not one of a node',
}

/** An error of the package for whatever went wrong. `name`: the store's. */
export function translated(error: unknown, name: string): Error {
  if (error instanceof RedriveError) return error
  const message = messageOf(error)
  const code = codeOf(error)
  if (code === 'OOM') {
    return new StorageFullError(
      `the server of the store '${name}' has reached its maxmemory: nothing was stored; raise it, or lower capacityBytes`,
      { cause: error },
    )
  }
  const newer = /REDRIVE_NEWER (\d+)/.exec(message)
  if (newer) return tooNew(name, Number(newer[1]), error)
  const line = /REDRIVE_LINE (\d)/.exec(message)
  if (line) return otherLine(name, line[1] === '1', error)
  if (error instanceof NoRight)
    return unavailable(name, `its user lacks rights: ${error.commands}; see the ACL in docs/redis.md`, error)
  if (code === 'NOPERM')
    return unavailable(
      name,
      `its user may not do what the store has to (${message}); see the ACL in docs/redis.md`,
      error,
    )
  return unavailable(name, ADVICE[code] ?? `the server does not answer (${message}); tasks wait until it does`, error)
}

export function unavailable(name: string, advice: string, cause?: unknown): RedriveError {
  return new RedriveError('STORAGE_UNAVAILABLE', `the store '${name}' in Redis: ${advice}`, { cause })
}

function tooNew(name: string, layout: number, cause: unknown): RedriveError {
  return new RedriveError(
    'STORAGE_NEWER',
    `the store '${name}' in Redis was written by a later version (layout ${layout}): update redrive here, or give another name; nothing was changed`,
    { cause },
  )
}

function otherLine(name: string, everyone: boolean, cause: unknown): RedriveError {
  const [kept, change] = everyone
    ? ['in a line for each principal', 'leave out everyone: true']
    : ['in one line for everyone', 'give everyone: true']
  return new RedriveError(
    'STORAGE_OTHER_LINE',
    `the store '${name}' in Redis holds tasks that stand ${kept}: ${change}, or give another name; it can be changed once no task is left, and nothing was changed`,
    { cause },
  )
}
