/** The store of a world: one object in memory, or one file that every process opens for itself. */

import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { memoryStore } from '../../js/stores/memory.ts'
import { sqliteStore } from '../../js/stores/sqlite.ts'
import type { TaskStore } from '../../js/stores/store.ts'
import { START } from './process.ts'
import type { VirtualTime } from './time.ts'

/** A file system in memory, where there is one: what is simulated is not the disk. */
const FOLDER = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()
const ROOM = { retention: { terminalMs: 30 * 86_400_000, deadLetterMs: 30 * 86_400_000 } }

export class Stores {
  /** For looking only. */
  readonly observer: TaskStore
  /** How wrong the store's clock is. */
  offsetMs = 0
  readonly #open: () => TaskStore
  readonly #shared: boolean
  readonly #opened: TaskStore[] = []
  readonly #folder: string | undefined

  /** `idleCheckMs`: how often a file is looked at unasked. */
  constructor(kind: 'memory' | 'sqlite', time: VirtualTime, idleCheckMs = 1_000) {
    const clock = {
      now: () => START + time.elapsed + this.offsetMs,
      monotonic: () => time.elapsed,
      after: () => () => {},
    }
    this.#shared = kind === 'memory'
    if (this.#shared) {
      const store = memoryStore({ clock, ...ROOM })
      this.#open = () => store
    } else {
      this.#folder = mkdtempSync(join(FOLDER, 'redrive-sim-'))
      const path = join(this.#folder, 'tasks.db')
      this.#open = () => sqliteStore({ path, clock, idleCheckMs, ...ROOM })
    }
    this.observer = this.connect().store
  }

  connect(): { readonly store: TaskStore; readonly letGo: () => void } {
    const store = this.#open()
    if (!this.#shared) this.#opened.push(store)
    return { store, letGo: () => void store.close() }
  }

  async close(): Promise<void> {
    for (const store of this.#opened) await store.close()
    if (this.#folder) rmSync(this.#folder, { recursive: true, force: true })
  }
}
