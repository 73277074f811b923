/**
 * The only place that reads the time or arms a timer (the browser's wake-up timer, gloo-timers, apart).
 *
 * The queue lives on a *steady* clock: wall time that never runs backwards. A forward step, or sleep, counts as time
 * passed; after a backward step it goes on at the pace of the monotonic clock, so no task waits for the step again.
 */

/** Time and timers, which tests replace. */
export interface Clock {
  /** Epoch milliseconds. */
  now(): number
  /** Milliseconds that never go back, from any origin. */
  monotonic(): number
  /**
   * Calls `wake` once after `delayMs`; returns what takes it back. May wake early: a wake-up is a hint. One that comes much too late lets
   * what arrived meanwhile be read first. `isIdle`: for a look that nothing depends on, which is no reason to keep a process alive.
   */
  after(delayMs: number, wake: () => void, isIdle?: boolean): () => void
}

export const DAY_MS = 86_400_000
/** The instant of what time alone does not bring. */
export const FOREVER: number = Infinity

/** Timers beyond this fire at once in every browser (measured: 2^31 + 1000 fires after 2 ms). */
export const MAX_TIMER_MS: number = 2 ** 31 - 1

/** A timer later than this was held up with its process or page; those of a hidden page, once a second, are not so late. */
const HELD_UP_MS = 1_000
/** Time for what arrived meanwhile, such as an answer in its socket, to be read. */
const READ_MS = 50

interface NodeTimer {
  unref?(): void
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(delayMs, wake, isIdle) {
    let timer: NodeTimer | number
    const arm = (ms: number, then: () => void) => {
      timer = setTimeout(then, ms)
      if (isIdle) (timer as NodeTimer).unref?.()
    }
    const ms = Math.min(Math.max(delayMs, 0), MAX_TIMER_MS)
    const heldUpAt = performance.now() + ms + HELD_UP_MS
    arm(ms, () => (performance.now() > heldUpAt ? arm(READ_MS, wake) : wake()))
    return () => clearTimeout(timer as number)
  },
}

/** Epoch milliseconds that never go back, even where the monotonic clock does: fake timers were put on, or taken off. */
export function steady(clock: Clock): () => number {
  let offset = -FOREVER
  let last = -FOREVER
  return () => {
    const monotonic = clock.monotonic()
    offset = Math.max(offset + Math.max(0, last - monotonic), clock.now() - monotonic)
    last = monotonic
    return Math.floor(monotonic + offset)
  }
}

/** A moment by both clocks: the wall's, which all tabs share, and the one that shows later whether the wall's was set back. */
export interface Instant {
  readonly wall: number
  readonly monotonic: number
}

export function instantOf(clock: Clock): Instant {
  return { wall: clock.now(), monotonic: clock.monotonic() }
}

/** Settles as `work` does, or rejects with a TimeoutError after `ms`. */
export function within<T>(clock: Clock, ms: number, what: string, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const disarm = clock.after(ms, () => reject(timeoutError(`${what} took longer than ${ms} ms`)))
    work.then(resolve, reject).finally(disarm)
  })
}

/** The error that fetch rejects with when a timeout signal fires. */
export function timeoutError(message: string): DOMException {
  return new DOMException(message, 'TimeoutError')
}

/** Fake timers of a test runner: those of Vitest, Jest and Sinon are one library. */
export interface FakeTimers {
  /** The queues that were called since they are on, for `redrive/testing`. */
  redrive?: Set<object>
}

/** Those that are on. */
export const fakeTimers = (): FakeTimers | undefined => (setTimeout as { readonly clock?: FakeTimers }).clock
