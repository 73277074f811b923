/** The words with which calls and dead letters are refused, in the store and in memory alike. */

import { RedriveError } from '../api/errors.ts'
import type { NotRetriedReason } from '../api/task.ts'
import { NotDurableError, type NotDurableReason, QueueFullError } from '../api/task-errors.ts'
import { deliver, type Finished } from '../call/attempt.ts'
import type { Call } from '../call/call.ts'
import type { RepeatAnswer } from '../call/transport.ts'
import type { Settings } from '../options/queue-options.ts'
import type { Runner } from './runner.ts'
import type { EarlyAnswer, StoredPlace } from './stored.ts'

/** The reason why a call cannot be in the store. */
export interface Obstacle {
  readonly reason: NotDurableReason
  /** In words, with what to do. */
  readonly why: string
  readonly cause?: unknown
}

/** The store cannot be had. */
export const storeAway = (why: string): Obstacle => ({ reason: 'storage_unavailable', why })

/** The outcomes that a call may have which the store has not answered, by what is known of its cancel. `isShared`: another call can have its key, so the task stays. */
export function unsure(isShared: boolean, said?: 'cancelled' | 'requested' | 'gone' | undefined): string {
  if (isShared)
    return 'whether it has the task is not known; make the call again under the same idempotency key when it answers: it is the same task'
  if (said === 'cancelled') return 'it had the task, which is cancelled: it will not be sent'
  if (said === 'requested') return 'another process has it, and it was sent, or is sent now'
  if (said === 'gone') return 'it does not have the task, unless that has ended'
  return 'if it has the task, that is cancelled once it answers, unless it was sent by then'
}

/** A task in memory has the key of the call. */
export const inMemory = (taskId: string): Obstacle => ({
  reason: 'in_memory',
  why: `its key is that of task ${taskId}, which is in memory`,
})

/**
 * Throws where a call in the background has to be stored, and is not: its caller goes, and would take it for durable.
 * `isHandedOver`: by `enqueue`; a deferred call is so by itself.
 */
export function assertMayBeInMemory(
  { durable, allowMemory = false }: Settings,
  { method, origin, options }: Call,
  isHandedOver: boolean,
  { reason, why, cause }: Obstacle,
): void {
  if (!durable || !(isHandedOver || options.mode === 'defer')) return
  if (options.sensitive || (options.allowMemory ?? allowMemory)) return
  const message = `${method} ${origin} was not queued: ${why}; or set allowMemory, which keeps it in memory`
  throw new NotDurableError(reason, message, { cause })
}

/** Throws where a durable queue has not opened its store, of whose tasks nothing can be said. */
export function assertStore(
  { host }: Runner,
  { place, obstacle }: { readonly place: StoredPlace | undefined; readonly obstacle: Obstacle },
  method: string,
): void {
  if (!host.settings.durable || place) return
  throw new RedriveError(
    'STORAGE_UNAVAILABLE',
    `${method}: the store was not asked, since ${obstacle.why}; ask again later`,
    { cause: obstacle.cause },
  )
}

/** The answer of a call that goes no further than its first attempt; `reason` is marked on it. */
export function delivered(own: Finished<RepeatAnswer>, reason: NotRetriedReason | null): EarlyAnswer {
  const deliverOwn = async () => deliver(own, reason && { reason })
  return { answer: deliverOwn() }
}

/** The refusal to send a dead letter again whose server may not know its key any more. */
export function keyExpired(taskId: string): RedriveError {
  const remedy =
    'deadLetters.redrive(taskId, { acceptDuplicateRisk: true }) accepts that, deadLetters.purge(taskId) frees the key'
  const why = 'its key is older than keyTtlMs, the server may do the work again'
  return new RedriveError('KEY_EXPIRED', `task ${taskId}: ${why}; ${remedy}`)
}

/** The refusal of a task that the queue has no room for; `dead` of those that take it are dead letters. */
export function queueFull({ host, limits }: Runner, dead: number): QueueFullError {
  const held = `${host.settings.capacity} tasks or ${limits.capacityBytes} bytes of bodies`
  const remedy = dead > 0 ? "redrive or purge those, wait for 'idle'" : "wait for 'idle'"
  const what = `the queue holds ${held}, ${dead} of them dead letters`
  return new QueueFullError(`${what}; ${remedy}, or raise capacity or capacityBytes`)
}

/** Throws for one of an order, which is kept in no other place than the store, where there is one: in memory it would overtake those in the store (S19). */
export function assertUnordered({ durable }: Settings, { method, origin, options }: Call): void {
  if (options.orderKey === undefined || !durable) return
  const remedy = 'nothing was sent or queued; try again when the store answers, or use a queue that is not durable'
  const message = `${method} ${origin}: its orderKey needs the store, which is not available: ${remedy}`
  throw new RedriveError('STORAGE_UNAVAILABLE', message)
}

/** The refusal of a call whose turn only the store can give, and which may not be in it (S19). */
export function notStored(what: string, why: string): RedriveError {
  return new RedriveError(
    'ORDER_NOT_STORED',
    `${what} was not sent: an orderKey asks for a place in the store, and ${why}`,
  )
}

/** The refusal of a call whose store fails. It may have the task all the same, so the call is not kept in memory beside it, either. */
export function unkept(call: Call, error: RedriveError): never {
  if (error.code !== 'STORAGE_UNAVAILABLE' || call.options.orderKey !== undefined) throw error
  const message = `${call.method} ${call.origin} was not queued: ${error.message}`
  throw new NotDurableError('storage_unavailable', message, { cause: error })
}
