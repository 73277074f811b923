/**
 * Loads the core: fetches its chunk at idle and starts it with the first call that needs it. Where it cannot be loaded, calls
 * stay plain fetch (S18). Chunk and store are reached through `EngineModule` only, so the entry holds neither.
 */

import { RedriveError } from '../api/errors.ts'
import type { DegradedCode } from '../api/events.ts'
import type { Call } from '../call/call.ts'
import type { signedFirst } from '../call/sign.ts'
import type { Checks } from '../options/checks.ts'
import { assertNotAborted, orAbort } from '../platform/abort.ts'
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

/** The parts of a loader that a queue uses. */
export type Loader = Pick<
  CoreLoader,
  'opened' | 'starting' | 'failure' | 'open' | 'pause' | 'resume' | 'close' | 'signed'
>

export type LoaderClass = new (source: EngineSource, host: QueueContext) => Loader

/** A call waits no longer for a chunk: it gets its own answer then. Real time, whatever the clock. */
const LOAD_MS = 10_000

export class CoreLoader {
  /** The task manager, once it can be used. */
  opened: TaskManager | undefined
  /** The start under way or made; awaiting it starts nothing. */
  starting: Promise<TaskManager | undefined> | undefined
  /** The reason why the core could not start. */
  failure: RedriveError | undefined
  /** The chunk on its way, until the store behind it is open: calls do not wait that long. */
  #arriving: Promise<TaskManager> | undefined
  /** The wait before it is loaded again. */
  #waitMs = 1_000
  /** Takes back the next loading that is planned. */
  #disarm = () => {}
  readonly #source: EngineSource
  readonly #host: QueueContext
  /** Scopes paused before there was a runner to tell; '': everything. */
  readonly #paused = new Set<string>()
  readonly #load = () => {
    // tasks that an earlier process left in the store wait for a process that opens it
    if (this.#host.settings.durable) void this.open()
    else this.#prefetch()
  }
  /** Aborted when the queue closes: it waits neither for a chunk on its way nor for the store. */
  readonly #closing = new AbortController()

  constructor(source: EngineSource, host: QueueContext) {
    this.#source = source
    this.#host = host
    const { preload, wasm, durable, clock } = host.settings
    // it may be awaited late or never: until then its failure must not be an unhandled rejection
    ;(wasm as Promise<unknown> | undefined)?.catch?.(() => {})
    if (preload === 'never') return
    if (preload === 'eager') this.#prefetch()
    // elsewhere chunks lie on the disk; in Workers nothing may be timed at module scope
    if (!durable && (preload === 'eager' || !isPage())) return
    this.#disarm = isPage() ? whenIdle(this.#load) : clock.after(0, this.#load)
  }

  /** The manager of tasks, started now if need be; undefined where the core cannot run. */
  open(): Promise<TaskManager | undefined> {
    this.starting ??= this.#start()
    return this.starting
  }

  pause(origin: string | undefined): void {
    this.#paused.add(origin ?? '')
    this.opened?.runner.pause(origin)
  }

  resume(origin: string | undefined): void {
    if (origin === undefined) this.#paused.clear()
    else this.#paused.delete(origin)
    this.opened?.runner.resume(origin)
  }

  /** The signature of a first attempt, where the queue signs. Few pages hold a secret to sign with, so it comes with the chunk. */
  async signed(call: Call): Promise<Headers | null> {
    const { sign, clock } = this.#host.settings
    return sign ? (await this.#chunk()).signedFirst(sign, call, clock) : null
  }

  async close(drainMs: number, calls: Iterable<Promise<unknown>>): Promise<void> {
    this.#closing.abort()
    this.#disarm()
    const own = within(this.#host.settings.clock, drainMs, '', Promise.allSettled(calls)).catch(() => {})
    await this.starting
    await this.opened?.close(drainMs, own)
    await own
  }

  #start(): Promise<TaskManager | undefined> {
    this.#arriving ??= this.#arrive()
    const arrived = within(systemClock, LOAD_MS, 'loading', this.#arriving)
    return orAbort(this.#closing.signal, arrived).catch((error) => this.#failed(error))
  }

  /** Takes as long as it takes: a chunk that calls did not wait for is used when it comes. */
  async #arrive(): Promise<TaskManager> {
    try {
      const { prepare } = await this.#chunk()
      const makeManager = await prepare(this.#host.settings.wasm)
      assertNotAborted(this.#closing.signal)
      this.opened = makeManager(this.#host)
      for (const scope of this.#paused) this.opened.runner.pause(scope || undefined)
      await this.opened.begin()
      return this.opened
    } catch (error) {
      this.#arriving = undefined
      throw error
    }
  }

  /** The chunk. What was given before it came is held against the checks in it, where there were none until now. */
  async #chunk(): Promise<EngineModule> {
    const chunk = await this.#source()
    try {
      if (!this.#host.checks) chunk.CHECKS.queue(this.#host.given, this.#host)
    } catch (error) {
      throw new RedriveError('options_refused', `${(error as Error).message}: calls are plain fetch`, { cause: error })
    }
    this.#host.checks = chunk.CHECKS
    return chunk
  }

  #prefetch(): void {
    this.#chunk().catch((error) => this.#failed(error))
  }

  #failed(error: unknown): undefined {
    const { signal } = this.#closing
    if (signal.aborted) return
    const why = `the core could not be loaded (${error}): calls are plain fetch`
    this.failure = error instanceof RedriveError ? error : new RedriveError('core_unreachable', why, { cause: error })
    const { code, message } = this.failure
    this.#host.degraded(code as DegradedCode, message, 'core')
    if (code !== 'core_unreachable') return
    // the next failed call asks again; before that the network coming back does, and time where a store may hold tasks
    this.starting = undefined
    globalThis.addEventListener?.('online', this.#load, { signal })
    const { durable, clock } = this.#host.settings
    if (!durable && !isPage()) return
    this.#disarm()
    this.#disarm = clock.after(this.#waitMs, this.#load, true)
    this.#waitMs = Math.min(this.#waitMs * 2, 60_000)
  }
}
