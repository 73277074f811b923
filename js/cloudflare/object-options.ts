/** The options of a Durable Object, beside those of any queue. */

import type { QueueEvents } from '../api/events.ts'
import { fn, int, type Rules } from '../options/check.ts'
import type { RetryBudgetOptions } from '../options/gate-options.ts'
import type { RetryQueueOptions } from '../options/queue-options.ts'
import { resolveOptions } from '../options/queue-rules.ts'
import { partOptions } from './own-options.ts'

/** Options of any queue that an object may set. */
const QUEUE_OPTIONS = [
  'credentials',
  'beforeAttempt',
  'shouldRetry',
  'delay',
  'sign',
  'policy',
  'policies',
  'concurrency',
  'concurrencyPerOrigin',
  'capacity',
  'capacityBytes',
  'maxBodyBytes',
  'maxLaneHoldMs',
  'retention',
  'breaker',
  'retryBudget',
  'sanitize',
  'idempotency',
  'fetch',
  'seed',
] as const

type QueueOptions = Pick<RetryQueueOptions, (typeof QUEUE_OPTIONS)[number]>

/** One alarm, and what came of it. */
export interface ObjectRun {
  readonly attempts: number
  /** Tasks that ended. */
  readonly ended: number
  /** When the next alarm rings, in epoch ms; null: there is nothing to do. */
  readonly nextRunAt: number | null
  /** The failure that ended the run. */
  readonly error?: unknown
}

/**
 * All that an object sends are retries, whose first attempts it has not seen: what succeeds pays for itself. Breaker and
 * ramp keep it from a server that fails.
 */
const BUDGET = { capacity: 1_000, perSuccess: 1 }

export interface RedriveObjectOptions extends QueueOptions {
  /** See `RetryQueueOptions`. @default `{ capacity: 1_000, perSuccess: 1 }`, since all that an object sends are retries */
  readonly retryBudget?: RetryBudgetOptions | false
  /**
   * Attempts of one alarm; what is left is the next one's. Each is a subrequest, of which a request has 50 on the free
   * plan, and redirects within the origin are more. 1 to 900. @default 40
   */
  readonly attemptsPerRun?: number
  /** Hears of each alarm. @default none */
  readonly onRun?: (run: ObjectRun) => void
  /** Hears of each dead letter: no caller waits for a task of an object, and none would ask. @default console.warn, with the words of its error */
  readonly onExhausted?: (dead: QueueEvents['exhausted']) => void
  /** Hears what works less well than asked. @default console.warn */
  readonly onDegraded?: (report: QueueEvents['degraded']) => void
}

type OwnOptions = Omit<RedriveObjectOptions, (typeof QUEUE_OPTIONS)[number]>

const RULES: Rules<OwnOptions> = {
  attemptsPerRun: int(1, 900),
  onRun: fn,
  onExhausted: fn,
  onDegraded: fn,
}

export interface ObjectSettings {
  readonly queue: QueueOptions
  readonly attemptsPerRun: number
  readonly maxBodyBytes: number
  readonly onRun: (run: ObjectRun) => void
  readonly onExhausted: (dead: QueueEvents['exhausted']) => void
  readonly onDegraded: (report: QueueEvents['degraded']) => void
}

export const warn = ({ code, message }: QueueEvents['degraded']): void => console.warn(`redrive: ${code}: ${message}`)

/** A dead letter in words. The queue's own put it back by a method of its own, which an object has on its stub. */
const warnOfDead = ({ error }: QueueEvents['exhausted']): void =>
  console.warn(
    `redrive: ${error.message.replace('deadLetters.redrive(taskId)', "redrive(taskId) of the object's stub")}`,
  )

/** Throws as `RetryQueue` does, naming the option. */
export function resolveObjectOptions(given: RedriveObjectOptions): ObjectSettings {
  const { own, queue: rest } = partOptions<OwnOptions, QueueOptions>('options', given, QUEUE_OPTIONS, RULES)
  const { attemptsPerRun = 40, onRun = () => {}, onExhausted = warnOfDead, onDegraded = warn } = own
  const retryBudget = rest.retryBudget === false ? (false as const) : { ...BUDGET, ...rest.retryBudget }
  const queue = { ...rest, retryBudget }
  // whose tasks it keeps is known later, and these have their keys
  const { maxBodyBytes } = resolveOptions({ ...queue, principal: '' })
  return { queue: withIntent(queue), attemptsPerRun, onRun, onExhausted, onDegraded, maxBodyBytes }
}

/** Without content keys, which a Worker's calls have: an object may be given the same options. */
function withIntent(queue: QueueOptions): QueueOptions {
  return queue.idempotency ? { ...queue, idempotency: { ...queue.idempotency, mode: 'intent' } } : queue
}
