/** How a process comes by its chunks, the core and the store's: at once, late, or for a while not at all. */

import { instantiate } from '../../js/core/file.ts'
import { instantiateKeys } from '../../js/core/keys-file.ts'
import * as store from '../../js/durable/open.ts'
import { assemble } from '../../js/queue/assemble.ts'
import type { EngineSource } from '../../js/queue/core-loader.ts'
import * as pages from '../../js/stores/indexeddb.ts'
import * as words from '../../js/tasks/explain.ts'
import type { Gate } from './gate.ts'
import type { VirtualTime } from './time.ts'

export type Part = 'core' | 'store'

/** What becomes of a chunk that is asked for. */
export interface Delay {
  /** It is held up for so long, which is no longer than a queue waits for it. */
  readonly ms: number
  /** And does not come then. */
  readonly fails: boolean
}

export class Loading {
  readonly #time: VirtualTime
  readonly #delays = new Map<Part, Delay & { readonly until: number }>()

  constructor(time: VirtualTime) {
    this.#time = time
  }

  /** What is asked for from now on, for so long. */
  holdUp(part: Part, forMs: number, delay: Delay): void {
    this.#delays.set(part, { ...delay, until: this.#time.elapsed + forMs })
  }

  /** Everything comes at once from now on. */
  heal(): void {
    this.#delays.clear()
  }

  /** For one life of the process. `heldUp`: a chunk does not come at once. */
  source(gate: Gate, heldUp: () => void): EngineSource {
    const load = <T>(part: Part, chunk: T): Promise<T> => {
      const delay = this.#delays.get(part)
      if (!delay || delay.until <= this.#time.elapsed) return Promise.resolve(chunk)
      heldUp()
      return new Promise((resolve, reject) => {
        const comes = () =>
          delay.fails ? reject(new TypeError('error loading dynamically imported module')) : resolve(chunk)
        this.#time.after(delay.ms, () => gate.enter(comes))
      })
    }
    const module = assemble(instantiate, {
      keys: () => instantiateKeys(),
      store: () => load('store', store),
      pages: async () => pages,
      words: async () => words,
    })
    return () => load('core', module)
  }
}
