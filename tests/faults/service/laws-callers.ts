/** The laws about what clients and operators are told. */

import { tally } from '../checks.ts'
import type { Call } from './clients.ts'
import { type Index, receipts, type ServiceFacts } from './facts.ts'
import type { Death, Struck } from './fleet.ts'

type Laws = Readonly<Record<string, readonly string[]>>

/** Statuses that each kind of call may be told, but for 503: none may be answered by chance. */
const MAY: Readonly<Record<Call['kind'], readonly number[]>> = {
  post: [200, 201],
  // its first one may have been the unanswered one
  again: [200],
  conflict: [422],
  get: [200],
  stranger: [404],
  cancel: [200, 202, 409],
  redrive: [200, 404, 409],
}
const LATER = 503

export function callerLaws(index: Index): Laws {
  const { facts } = index
  const { calls } = facts
  return {
    'answered for no reason': calls
      .filter(({ status, kind }) => status !== undefined && status !== LATER && !MAY[kind].includes(status))
      .filter(({ kind, status }) => !isGone(kind, status))
      .map(words),
    'accepted with another promise': receipts(calls)
      .filter(({ durability }) => durability !== 'strict')
      .map(words),
    'H1 acknowledged, and not found when asked for': calls
      .filter(({ kind, status }) => isGone(kind, status))
      .map(words),
    'H7 the same key, and another task': [...index.tasks]
      .filter(([, tasks]) => tasks.length > 1)
      .map(([intent, tasks]) => `${intent}: ${tasks.join(', ')}`),
    'H7 one task for two tenants': sharedTasks(index),
    'H7 made twice': madeTwice(calls),
    'H7 another request under a key taken': calls
      .filter(({ kind, status }) => kind === 'conflict' && status !== undefined && status !== LATER)
      .filter(({ intent, status, said, taskId }) => {
        return status !== 422 || said !== 'idempotency-conflict' || taskId !== index.taskOf(intent)
      })
      .map(words),
    'T16 shown to another tenant': calls.filter(({ kind, status }) => kind === 'stranger' && status === 200).map(words),
    'H12 put back under another id': calls
      .filter(({ kind, status, intent, taskId }) => kind === 'redrive' && status === 200 && taskId !== intent)
      .map(words),
    'operations that did not end': facts.failedOperations,
  }
}

/** An acknowledged task that the API does not know. */
const isGone = (kind: Call['kind'], status: number | undefined): boolean =>
  status === 404 && (kind === 'get' || kind === 'cancel' || kind === 'redrive')

/** Two intents whose keys are equal, of two tenants, are two tasks. */
function sharedTasks({ tasks }: Index): readonly string[] {
  const owners = new Map<string, string>()
  return [...tasks].flatMap(([intent, ids]) =>
    ids.flatMap((id) => {
      const owner = owners.get(id)
      owners.set(id, intent)
      return owner === undefined ? [] : [`${id} for ${owner} and ${intent}`]
    }),
  )
}

/** One of all answers to a key says that it was made just now. */
function madeTwice(calls: readonly Call[]): readonly string[] {
  const made = tally(calls.filter(({ status }) => status === 201).map(({ intent }) => intent))
  return [...made].filter(([, times]) => times > 1).map(([intent, times]) => `${intent}: 201 ${times} times`)
}

const words = ({ kind, intent, life, status, said = '', taskId = '' }: Call): string =>
  `${kind} of ${intent} at ${life}: ${status} ${said} ${taskId}`.trimEnd()

/**
 * A service does not start without its store, and says so: one that started while Redis was away ends, and so does one whose file was held by a process
 * that stood still.
 */
const metNoStore = ({ startedAt, at, wasReady }: Death, struck: readonly Struck[]): boolean =>
  !wasReady &&
  struck.some(({ kind, from, until }) => (kind === 'redis' || kind === 'stop') && from < at && until > startedAt)

/** When a process was told to end; Infinity: it was not. */
const drainedAt = (life: string, struck: readonly Struck[]): number =>
  struck.find((each) => each.kind === 'drain' && each.life === life)?.from ?? Number.POSITIVE_INFINITY

/**
 * A process that is told to end closes kept connections half a second later, or once it has a quiet moment. A request that is sent on one at
 * that moment gets no answer, as the docs say: HTTP/1.1 has no way to announce it (RFC 9112, 9.5 and 9.6). The client's next try is what counts.
 */
export function crossesClose(call: Call, struck: readonly Struck[]): boolean {
  if (!call.isKept || call.endedAt - call.askedAt > AT_ONCE_MS) return false
  const sinceMs = call.askedAt - drainedAt(call.life, struck)
  return sinceMs >= CLOSES_AFTER_MS && sinceMs <= CLOSED_BY_MS
}
const AT_ONCE_MS = 100
const CLOSES_AFTER_MS = 450
/** Half a second, one more at the most for the quiet moment, and the slack of a busy machine. */
const CLOSED_BY_MS = 1_750

export function exitLaws({ exits, deaths, struck, calls, exitMs }: ServiceFacts): Laws {
  const away = struck.filter(({ kind }) => kind === 'redis')
  return {
    'processes that ended by themselves': deaths
      .filter((death) => !metNoStore(death, struck))
      .map(({ life, words }) => `${life} ${words}`),
    'told to end, and ended otherwise': exits
      .filter(({ code }) => code !== 0)
      .map(({ life, code, signal }) => `${life} ended with ${signal ?? code}`),
    'told to end, and took too long': exits
      .filter(({ life, tookMs }) => {
        const from = drainedAt(life, struck)
        return tookMs > exitMs && !away.some((each) => each.from < from + tookMs && each.until > from)
      })
      .map(({ life, tookMs }) => `${life} took ${tookMs} ms`),
    'answers cut by a process that was told to end': calls
      .filter(
        (call) => call.outcome === 'cut' && call.endedAt >= drainedAt(call.life, struck) && !crossesClose(call, struck),
      )
      .map(({ kind, intent, life, message }) => `${kind} of ${intent} at ${life}: ${message}`),
  }
}
