/**
 * redrive/node: a Node process that ends without dropping what its queues have in flight.
 *
 * It listens to signals only while asked to, and only from the call on: importing it changes nothing.
 */

import { constants } from 'node:os'
import process from 'node:process'
import { check, flag, fn, follow, list, ms, type Rule, type Rules } from './options/check.ts'
import type { RetryQueue } from './queue/queue.ts'

export interface SignalOptions {
  /** @default ['SIGTERM', 'SIGINT'] */
  readonly signals?: readonly `SIG${string}`[]
  /** How long attempts in flight may go on, as in `close`. @default 5_000 */
  readonly drainMs?: number
  /** false: the process goes on once the queues are closed, and ends when nothing is left to do. @default true */
  readonly exit?: boolean
}

type Closable = Pick<RetryQueue, 'close'>

const SIGNAL: Rule = {
  type: 'string',
  expected: "a signal of this platform, such as 'SIGTERM'",
  ok: (name: string) => Object.hasOwn(constants.signals, name),
}
/** Known by its `close`. */
const QUEUE: Rule = { ...fn, expected: 'a RetryQueue, as in closeOnSignals(queue)' }
const RULES: Rules<SignalOptions> = { signals: list(SIGNAL), drainMs: ms(), exit: flag }

/**
 * On the first of these signals the queues are closed, which lets what they have in flight end, and the process ends with
 * 128 + the signal's number, as a shell expects. A second signal ends it at once. Gives what takes it back.
 *
 * ```ts
 * const queue = new RetryQueue({ name: 'orders', principal: null, store: sqliteStore({ path: 'orders.db' }) })
 * closeOnSignals(queue, { drainMs: 10_000 })
 * ```
 */
export function closeOnSignals(queues: Closable | readonly Closable[], options: SignalOptions = {}): () => void {
  check('closeOnSignals', options, RULES)
  const all: readonly Closable[] = Array.isArray(queues) ? queues : [queues]
  for (const [i, queue] of all.entries()) follow(`closeOnSignals.queues[${i}]`, queue?.close, QUEUE)
  const { signals = ['SIGTERM', 'SIGINT'], drainMs, exit = true } = options
  let closing = false
  const onSignal = async (_: string, number: number): Promise<void> => {
    if (closing) process.exit(128 + number)
    closing = true
    const ends = await Promise.allSettled(all.map((queue) => queue.close(drainMs === undefined ? {} : { drainMs })))
    for (const end of ends) if (end.status === 'rejected') process.emitWarning(`a queue did not close: ${end.reason}`)
    if (!exit) return
    await new Promise(setImmediate) // a warning is written a tick later
    process.exit(128 + number)
  }
  for (const signal of signals) process.on(signal, onSignal)
  return () => {
    for (const signal of signals) process.off(signal, onSignal)
  }
}
