/** Fake time for a queue that runs on the platform's timers, which Vitest, Jest or Sinon has replaced. */

import { MAX_TIMER_MS } from '../platform/clock.ts'
import type { RetryQueue } from '../queue/queue.ts'
import { settle } from './clock.ts'

/** The fake timers of all three: they stand on one library. */
interface FakeTimers {
  nextAsync(): Promise<number>
  tickAsync(ms: number): Promise<number>
  /** The platform's own, where it is replaced. */
  readonly _setTimeout?: typeof setTimeout
  readonly _setImmediate?: unknown
}

/** So many looks at what is under way, each a millisecond later than the one before, take a second of real time, or ten. */
const [SECOND, TEN_SECONDS] = [44, 141]

/**
 * Lets `ms` of fake time pass, and real I/O between two timers: the core loads, for which it has ten seconds of real time, and each
 * attempt in flight gets its answer, if it comes within one. Throws a TypeError where no fake timers are on.
 *
 * @example
 * vi.useFakeTimers()
 * const answer = queue.fetch('https://api.example.com/orders')
 * await fastForward(queue, 1_000)
 * expect((await answer).status).toBe(200)
 */
export async function fastForward(queue: RetryQueue, ms: number): Promise<void> {
  const { clock } = setTimeout as { readonly clock?: FakeTimers }
  if (!clock) {
    const how = "vi.useFakeTimers(), jest.useFakeTimers() or Sinon's useFakeTimers()"
    throw new TypeError(`fastForward: expected fake timers: call ${how} first, or give the queue a fakeClock()`)
  }
  const host = globalThis as { setImmediate?: unknown }
  const { setImmediate } = host
  // it takes no time, and Node's own fetch goes on by it
  if (clock._setImmediate) host.setImmediate = clock._setImmediate
  try {
    const work = new UnderWay(queue, clock)
    await work.end()
    for (let left = ms; left >= 0; left -= MAX_TIMER_MS) {
      let isOver = false
      const end = () => {
        isOver = true
      }
      setTimeout(end, Math.min(left, MAX_TIMER_MS))
      while (!isOver) {
        await clock.nextAsync()
        await work.end()
      }
    }
  } finally {
    if (clock._setImmediate) host.setImmediate = setImmediate
  }
}

/** The work of a queue that takes real time. */
class UnderWay {
  readonly #queue: RetryQueue
  readonly #clock: FakeTimers
  /** Attempts begun when what is under way was last waited for in vain. */
  #hung = -1

  constructor(queue: RetryQueue, clock: FakeTimers) {
    this.#queue = queue
    this.#clock = clock
  }

  /** Resolves when all that is left waits for fake time. */
  async end(): Promise<void> {
    // as a function of its own: a browser's takes no other object for `this`
    const later = this.#clock._setTimeout ?? setTimeout
    let isIdle = false
    let isLoading = true
    const idle = () => {
      isIdle = true
    }
    const loaded = () => {
      isLoading = false
    }
    this.#queue.idle().then(idle, idle)
    this.#queue.ready.then(loaded, loaded)
    for (let looks = 0; ; looks++) {
      // what is due at this very moment
      await this.#clock.tickAsync(0)
      await settle((then) => later(then, 0))
      const { inFlight, depth, attempts } = this.#queue.stats({ allPrincipals: true })
      // a call that is no task is at its first attempt
      const isBusy = isLoading || (!isIdle && (inFlight > 0 || depth === 0))
      if (!isBusy || attempts === this.#hung) return
      if (looks === (isLoading ? TEN_SECONDS : SECOND)) this.#hung = attempts
      await new Promise((resolve) => later(resolve, looks))
    }
  }
}
