/**
 * The core of a queue that the requests of a Worker share. Timers, promises and bodies belong there to the request that made them, and no
 * other may touch them. So each request that needs a core has one of its own; options, listeners and counts are the queue's.
 */

import type { Call } from '../call/call.ts'
import type { QueueContext } from '../runner/context.ts'
import type { TaskManager } from '../runner/manager.ts'
import { type EngineSource, type Loader, loadCore } from './core-loader.ts'

/** A core that has no task is kept so long after another request has come: a call of its own may be about to become one. */
const REST_MS = 10_000
/** So many cores are kept, and those that were left first are closed: a request that was cut off leaves its tasks behind, and never says so. */
const MOST_LEFT = 500

export class RequestLoader implements Loader {
  readonly #source: EngineSource
  readonly #host: QueueContext
  /** The core of the request that asked last. */
  #own: Loader | undefined
  /** Made by that request: another's code cannot copy it. */
  #mark: Response | undefined
  /** Cores of other requests, and when they were left. */
  readonly #left = new Map<Loader, number>()
  readonly #paused = new Set<string | undefined>()

  constructor(source: EngineSource, host: QueueContext) {
    this.#source = source
    this.#host = host
  }

  get opened(): TaskManager | undefined {
    return this.#here?.opened
  }

  get starting(): Promise<TaskManager | undefined> | undefined {
    return this.#here?.starting
  }

  get failure(): Loader['failure'] {
    return this.#own?.failure
  }

  open(): Promise<TaskManager | undefined> {
    return this.#begin().open()
  }

  signed(call: Call): Promise<Headers | null> {
    return this.#begin().signed(call)
  }

  pause(origin: string | undefined): void {
    this.#paused.add(origin)
    this.#here?.pause(origin)
  }

  resume(origin: string | undefined): void {
    if (origin === undefined) this.#paused.clear()
    else this.#paused.delete(origin)
    this.#here?.resume(origin)
  }

  async close(drainMs: number): Promise<void> {
    const all = [...this.#left.keys(), ...(this.#own ? [this.#own] : [])]
    // promises of other requests cannot be waited for
    await Promise.all(all.map((core) => core.close(drainMs, [])))
  }

  /** The core of the request whose code runs now; undefined: it has none. */
  get #here(): Loader | undefined {
    try {
      this.#mark?.clone()
    } catch {
      return undefined
    }
    if (this.#mark) this.#mark = newMark()
    return this.#mark && this.#own
  }

  #begin(): Loader {
    const here = this.#here
    if (here) return here
    if (this.#own) this.#leave(this.#own)
    const own = loadCore(this.#source, this.#host)
    for (const origin of this.#paused) own.pause(origin)
    this.#own = own
    this.#mark = newMark()
    return own
  }

  #leave(core: Loader): void {
    const now = this.#host.now()
    this.#left.set(core, now)
    for (const [each, leftAt] of this.#left) {
      const isIdle = leftAt + REST_MS < now && !each.opened?.runner.depth
      if (!isIdle && this.#left.size <= MOST_LEFT) continue
      this.#left.delete(each)
      // its callers have their answers, or are gone
      void each.close(0, []).catch(() => {})
    }
  }
}

/** undefined: the code of no request runs, but that of the module. */
function newMark(): Response | undefined {
  try {
    return new Response('a request')
  } catch {
    return undefined
  }
}
