/**
 * Loads the core: fetches its chunk at idle and starts it with the first call that needs it. Where it cannot be loaded, calls
 * stay plain fetch (S18). Chunk and store are reached through `EngineModule` only, so the entry holds neither.
 */

import { RedriveError } from '../api/errors.ts'
import type { DegradedCode } from '../api/events.ts'
import { assertNotAborted, orAbort } from '../platform/abort.ts'
import { systemClock, within } from '../platform/clock.ts'
import { whenIdle } from '../platform/page.ts'
import type { QueueContext } from '../runner/context.ts'
import type { TaskManager } from '../runner/manager.ts'

/** The core's chunk, as the entry knows it. */
export interface EngineModule {
  /**
   * Starts the core; resolves with the function that makes a task manager on it. Rejects with a RedriveError of code
   * 'wasm_refused' where WebAssembly cannot start.
   */
  prepare(wasm: unknown): Promise<(host: QueueContext) => TaskManager>
}

/** Gets that chunk, in the way of the entry in use. */
export type EngineSource = () => Promise<EngineModule>

/** A call waits no longer for a chunk: it gets its own answer then. Real time, whatever the clock. */
const LOAD_MS = 10_000

export class CoreLoader {
  /** The task manager, once it can be used. */
  opened: TaskManager | undefined
  /** The start under way or made; awaiting it starts nothing. */
  starting: Promise<TaskManager | undefined> | undefined
  /** The reason why the core could not start. */
  failure: RedriveError | undefined
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
    if (wasm instanceof Promise) wasm.catch(() => {})
    if (preload === 'never') return
    if (preload === 'eager') this.#prefetch()
    const isPage = globalThis.location !== undefined
    // elsewhere chunks lie on the disk; in Workers nothing may be timed at module scope
    if (!durable && (preload === 'eager' || !isPage)) return
    this.#closing.signal.addEventListener('abort', isPage ? whenIdle(this.#load) : clock.after(0, this.#load))
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

  async close(drainMs: number): Promise<void> {
    this.#closing.abort()
    await this.starting
    await this.opened?.close(drainMs)
  }

  async #start(): Promise<TaskManager | undefined> {
    const { signal } = this.#closing
    try {
      const loading = this.#source().then((module) => module.prepare(this.#host.settings.wasm))
      const makeManager = await orAbort(signal, within(systemClock, LOAD_MS, 'loading the core', loading))
      assertNotAborted(signal)
      this.opened = makeManager(this.#host)
      for (const scope of this.#paused) this.opened.runner.pause(scope || undefined)
      await orAbort(signal, this.opened.begin())
      return this.opened
    } catch (error) {
      this.#failed(error)
      return undefined
    }
  }

  #prefetch(): void {
    this.#source().catch((error) => this.#failed(error))
  }

  #failed(error: unknown): void {
    const { signal } = this.#closing
    if (signal.aborted) return
    const why = `the core could not be loaded (${error}): calls are plain fetch`
    this.failure = error instanceof RedriveError ? error : new RedriveError('core_unreachable', why, { cause: error })
    const { code, message } = this.failure
    this.#host.degraded(code as DegradedCode, message, 'core')
    if (code !== 'core_unreachable') return
    // the next failed call asks again; before that, the network coming back does
    this.starting = undefined
    globalThis.addEventListener?.('online', this.#load, { once: true, signal })
  }
}
