/** Fake time for queues that run on the platform's timers, which Vitest, Jest or Sinon has replaced. */

import { type FakeTimers, fakeTimers, MAX_TIMER_MS } from '../platform/clock.ts'
import type { RetryQueue } from '../queue/queue.ts'
import { settle } from './clock.ts'

interface Driven extends FakeTimers {
  nextAsync(): Promise<number>
  tickAsync(ms: number): Promise<number>
  /** The platform's own, where it is replaced. */
  readonly _setTimeout?: typeof setTimeout
  readonly _setImmediate?: unknown
}

/** So many looks at what is under way, each a millisecond later than the one before, take a second of real time, or ten. */
const [SECOND, TEN_SECONDS] = [44, 141]

/**
 * Lets `ms` of fake time pass, and real I/O between two timers. The queues that were called since the timers are fake load their cores, for which
 * they have ten seconds of real time, and each of their attempts in flight gets its answer, if it comes within one. Throws a TypeError where no
 * fake timers are on.
 *
 * @example
 * vi.useFakeTimers()
 * const answer = queue.fetch('https://api.example.com/orders')
 * await fastForward(1_000)
 * expect((await answer).status).toBe(200)
 */
export async function fastForward(ms: number): Promise<void> {
  const clock = fakeTimers() as Driven | undefined
  if (!clock) {
    const how = "vi.useFakeTimers(), jest.useFakeTimers() or Sinon's useFakeTimers()"
    throw new TypeError(
      `fastForward: expected fake timers: call ${how} first (those of node:test are not driven: take @sinonjs/fake-timers there), or give the queue a fakeClock()`,
    )
  }
  const host = globalThis as { setImmediate?: unknown }
  const { setImmediate } = host
  // it takes no time, and Node's own fetch goes on by it
  if (clock._setImmediate) host.setImmediate = clock._setImmediate
  try {
    const work = new UnderWay(clock)
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

/** The work of queues that takes real time. */
class UnderWay {
  readonly #clock: Driven
  /** Attempts begun when what is under way was last waited for in vain. */
  #hung = -1

  constructor(clock: Driven) {
    this.#clock = clock
  }

  /** Resolves when all that is left waits for fake time. */
  async end(): Promise<void> {
    // as a function of its own: a browser's takes no other object for `this`
    const later = this.#clock._setTimeout ?? setTimeout
    const watched = new Map<object, Watched>()
    for (let looks = 0; ; looks++) {
      // what is due at this very moment
      await this.#clock.tickAsync(0)
      await settle((then) => later(then, 0))
      for (const queue of this.#clock.redrive ?? []) {
        if (!watched.has(queue)) watched.set(queue, new Watched(queue as RetryQueue))
      }
      const all = [...watched.values()]
      const attempts = all.reduce((sum, { stats }) => sum + stats.attempts, 0)
      if (!all.some(({ isBusy }) => isBusy) || attempts === this.#hung) return
      if (looks === (all.some(({ isLoading }) => isLoading) ? TEN_SECONDS : SECOND)) this.#hung = attempts
      await new Promise((resolve) => later(resolve, looks))
    }
  }
}

class Watched {
  readonly #queue: RetryQueue
  #isIdle = false
  isLoading = true

  constructor(queue: RetryQueue) {
    this.#queue = queue
    const idle = () => {
      this.#isIdle = true
    }
    const loaded = () => {
      this.isLoading = false
    }
    queue.idle().then(idle, idle)
    queue.ready.then(loaded, loaded)
  }

  get stats() {
    return this.#queue.stats({ allPrincipals: true })
  }

  get isBusy(): boolean {
    const { inFlight, depth } = this.stats
    // a call that is no task is at its first attempt
    return this.isLoading || (!this.#isIdle && (inFlight > 0 || depth === 0))
  }
}
