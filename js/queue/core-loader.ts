/**
 * Loads the core: fetches its chunk at idle and starts it with the first call that needs it. Where it cannot be loaded, calls
 * stay plain fetch (S18). Chunk and store are reached through `EngineModule` only, so the entry holds neither.
 */

import { RedriveError } from '../api/errors.ts'
import type { DegradedCode } from '../api/events.ts'
import type { Call } from '../call/call.ts'
import type { signedFirst } from '../call/sign.ts'
import type { Checks } from '../options/checks.ts'
import { assertNotAborted, listen, orAbort } from '../platform/abort.ts'
import { systemClock, within } from '../platform/clock.ts'
import { isPage, whenIdle } from '../platform/page.ts'
import type { QueueContext } from '../runner/context.ts'
import type { TaskManager } from '../runner/manager.ts'

/** The core's chunk, as the entry knows it. */
export interface EngineModule {
  /**
   * Starts the core; resolves with the function that makes a task manager on it. Rejects with a RedriveError of code
   * 'wasm_refused' where WebAssembly cannot start.
   */
  prepare(wasm: unknown): Promise<(host: QueueContext) => TaskManager>
  /** Asks for the signature of a caller's own first attempt. It needs this chunk, and no WebAssembly. */
  readonly signedFirst: typeof signedFirst
  readonly CHECKS: Checks
}

/** Gets that chunk, in the way of the entry in use. */
export type EngineSource = () => Promise<EngineModule>

/** The core of a queue, which may be on its way. */
export interface Loader {
  /** The task manager, once it can be used. */
  readonly opened: TaskManager | undefined
  /** The start under way or made; awaiting it starts nothing. */
  readonly starting: Promise<TaskManager | undefined> | undefined
  /** The reason why the core could not start. */
  readonly failure: RedriveError | undefined
  /** The manager of tasks, started now if need be; undefined where the core cannot run. */
  open(): Promise<TaskManager | undefined>
  pause(origin: string | undefined): void
  resume(origin: string | undefined): void
  /** The signature of a first attempt, where the queue signs. Few pages hold a secret to sign with, so it comes with the chunk. */
  signed(call: Call): Promise<Headers | null>
  /** The calls that run, counted to their end even if their callers have left. */
  readonly calls: {
    add(work: Promise<unknown>, call: Call): unknown
    delete(work: Promise<unknown>): unknown
  }
  /** Calls `waiter`, and those before it, once no call runs and no task waits. */
  idle(waiter?: () => void): void
  close(drainMs: number): Promise<void>
}

export type MakeLoader = (source: EngineSource, host: QueueContext) => Loader

/** A call waits no longer for a chunk: it gets its own answer then. Real time, whatever the clock. */
const LOAD_MS = 10_000

/** A function with variables and no class: every page loads it, and each `this.#` would be bytes. */
export const loadCore: MakeLoader = (source, host) => {
  const { preload, wasm, durable, clock, sign } = host.settings
  /** Aborted when the queue closes: it waits neither for a chunk on its way nor for the store. */
  const closing = new AbortController()
  const { signal } = closing
  /** Scopes paused before there was a runner to tell; undefined: everything. */
  const paused = new Set<string | undefined>()
  /** The chunk on its way, until the store behind it is open: calls do not wait that long. */
  let arriving: Promise<TaskManager> | undefined
  /** The wait before it is loaded again. */
  let waitMs = 1_000
  /** Takes back the next loading that is planned. */
  let disarm = () => {}
  const calls = new Set<Promise<unknown>>()
  const waiters: (() => void)[] = []

  const core: { -readonly [K in keyof Loader]: Loader[K] } = {
    opened: undefined,
    starting: undefined,
    failure: undefined,
    calls,

    open() {
      core.starting ??= start()
      return core.starting
    },

    pause(origin) {
      paused.add(origin)
      core.opened?.runner.pause(origin)
    },

    resume(origin) {
      if (origin === undefined) paused.clear()
      else paused.delete(origin)
      core.opened?.runner.resume(origin)
    },

    async signed(call) {
      return sign ? (await chunk()).signedFirst(sign, call, clock) : null
    },

    idle(waiter) {
      if (waiter) waiters.push(waiter)
      if (calls.size > 0 || core.opened?.runner.depth) return
      for (const resolve of waiters.splice(0)) resolve()
    },

    async close(drainMs) {
      closing.abort()
      disarm()
      const own = within(clock, drainMs, '', Promise.allSettled(calls)).catch(() => {})
      await core.starting
      await core.opened?.close(drainMs, own)
      await own
    },
  }

  const start = (): Promise<TaskManager | undefined> => {
    arriving ??= arrive()
    return orAbort(signal, within(systemClock, LOAD_MS, 'loading', arriving)).catch(failed)
  }

  /** Takes as long as it takes: a chunk that calls did not wait for is used when it comes. */
  const arrive = async (): Promise<TaskManager> => {
    try {
      const { prepare } = await chunk()
      const makeManager = await prepare(wasm)
      assertNotAborted(signal)
      const manager = makeManager(host)
      core.opened = manager
      for (const scope of paused) manager.runner.pause(scope)
      await manager.begin()
      return manager
    } catch (error) {
      arriving = undefined
      throw error
    }
  }

  /** The chunk. What was given before it came is held against the checks in it, where there were none until now. */
  const chunk = async (): Promise<EngineModule> => {
    const module = await source()
    try {
      if (!host.checks) module.CHECKS.queue(host.given, host)
    } catch (error) {
      throw new RedriveError('options_refused', `${(error as Error).message}: calls are plain fetch`, { cause: error })
    }
    host.checks = module.CHECKS
    return module
  }

  const prefetch = (): void => void chunk().catch(failed)

  // tasks that an earlier process left in the store wait for a process that opens it
  const load = (): void => void (durable ? core.open() : prefetch())

  let listenOnce = () => {
    listenOnce = () => {}
    listen(globalThis, 'online', load, signal)
  }

  const failed = (error: unknown): undefined => {
    if (signal.aborted) return
    const why = `the core could not be loaded (${error}): calls are plain fetch`
    const failure = error instanceof RedriveError ? error : new RedriveError('core_unreachable', why, { cause: error })
    core.failure = failure
    host.degraded(failure.code as DegradedCode, failure.message, 'core')
    if (failure.code !== 'core_unreachable') return
    // the next failed call asks again; before that the network coming back does, and time where a store may hold tasks
    core.starting = undefined
    listenOnce()
    if (!durable && !isPage()) return
    disarm()
    disarm = clock.after(waitMs, load, true)
    waitMs = Math.min(waitMs * 2, 60_000)
  }

  // it may be awaited late or never: until then its failure must not be an unhandled rejection
  ;(wasm as Promise<unknown> | undefined)?.catch?.(() => {})
  if (preload === 'eager') prefetch()
  // elsewhere chunks lie on the disk; in Workers nothing may be timed at module scope
  if (preload !== 'never' && (durable || (preload !== 'eager' && isPage())))
    disarm = isPage() ? whenIdle(load) : clock.after(0, load)
  return core
}
