/** The store of a world: one object in memory, bare or dressed as a browser's, or a file, database or server that every process opens for itself. */

import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TaskStore } from '../../js/api/store.ts'
import { memoryStore } from '../../js/stores/memory.ts'
import { sqliteStore } from '../../js/stores/sqlite.ts'
import { QUICK_FOLDER } from '../js/sqlite/quick-folder.ts'
import type { Line } from '../redis/sync-port.ts'
import { Browser } from './browser.ts'
import type { Locks } from './locks.ts'
import { Page } from './page.ts'
import { START } from './process.ts'
import { Realm } from './realm.ts'
import { RedisWorld } from './redis.ts'
import type { StoreKind } from './scenario.ts'
import type { VirtualTime } from './time.ts'

/** Longer than any world, and any step of its clocks. */
export const KEEP_MS: number = 1_000 * 365 * 86_400_000
const ROOM = { retention: { terminalMs: KEEP_MS, deadLetterMs: KEEP_MS } }

/** What tabs have in common. */
export interface Tabs {
  readonly locks: Locks
  connect(page: Page): Connection
  /** Names of locks. */
  leaderOf(principal: string | null): string
  homeOf(owner: string): string
}

export interface Connection {
  readonly store: TaskStore
  readonly letGo: () => void
}

export class Stores {
  /** For looking only. */
  readonly observer: TaskStore
  /** How wrong the store's clock is. */
  offsetMs = 0
  /** Of tabs. */
  readonly tabs: Tabs | undefined
  /** What a process held that is gone can be had at once; else it runs out. */
  readonly tellsTheGone: boolean
  /** A call is over when nothing happens any more; one that is not waits for time, or for ever. Others may need turns of the event loop. */
  readonly isAtOnce: boolean
  readonly #redis: RedisWorld | undefined
  readonly #open: () => TaskStore
  readonly #shared: boolean
  readonly #opened: TaskStore[] = []
  readonly #folder: string | undefined

  /** `idleCheckMs`: how often a file or server is looked at unasked. @default that of its store */
  constructor(kind: StoreKind, time: VirtualTime, idleCheckMs: number = kind === 'redis' ? 5_000 : 1_000) {
    const clock = {
      now: () => START + time.elapsed + this.offsetMs,
      monotonic: () => time.elapsed,
      after: () => () => {},
    }
    this.#shared = kind !== 'sqlite'
    this.tellsTheGone = kind !== 'memory' && kind !== 'redis'
    this.isAtOnce = kind === 'redis'
    if (kind === 'indexeddb') {
      const realm = new Realm({ clock, ...ROOM })
      this.#open = () => realm.connect(new Page()).store
      this.tabs = realm
    } else if (kind === 'redis') {
      const redis = new RedisWorld(time, { clock, idleCheckMs, ...ROOM })
      this.#open = () => redis.connect().store
      this.#redis = redis
    } else if (this.#shared) {
      const store = memoryStore({ clock, ...ROOM })
      this.#open = () => store
      this.tabs = kind === 'tabs' ? new Browser(store) : undefined
    } else {
      this.#folder = mkdtempSync(join(QUICK_FOLDER, 'redrive-sim-'))
      const path = join(this.#folder, 'tasks.db')
      this.#open = () => sqliteStore({ path, clock, idleCheckMs, ...ROOM })
    }
    this.observer = this.connect().store
  }

  /** `page`: the tab, where there are tabs; `line`: what goes wrong on the way to a server. */
  connect(page?: Page, line?: Line): Connection {
    if (this.tabs && page) return this.tabs.connect(page)
    if (this.#redis) return this.#redis.connect(line)
    const store = this.#open()
    if (this.#shared) return { store, letGo: () => void store.close() }
    this.#opened.push(store)
    const owners = new Set<string>()
    const letGo = () => {
      this.#freeLocks(owners)
      void store.close()
    }
    return { store: { ...store, ...noting(store, owners) }, letGo }
  }

  /** As the system does when a process ends: its locks are there, and nothing holds them. */
  #freeLocks(owners: ReadonlySet<string>): void {
    const folder = join(this.#folder ?? '', 'tasks.db-owners')
    for (const name of existsSync(folder) ? readdirSync(folder) : []) {
      if (!owners.has(name.slice(LOCK_PREFIX))) continue
      unlinkSync(join(folder, name))
      writeFileSync(join(folder, `${name.slice(0, LOCK_PREFIX / 2)}00000000-${name.slice(LOCK_PREFIX)}`), '')
    }
  }

  /** All bytes that are kept, by where: of what is an object in memory there are none. */
  async bytes(): Promise<readonly (readonly [where: string, bytes: unknown])[]> {
    const folder = this.#folder
    if (folder) {
      const files = readdirSync(folder, { withFileTypes: true, recursive: true }).filter((each) => each.isFile())
      return files.map(({ parentPath, name }) => [name, readFileSync(join(parentPath, name))] as const)
    }
    if (this.#redis) return this.#redis.contents()
    return this.tabs instanceof Realm ? [['the database', await this.tabs.contents()]] : []
  }

  async close(): Promise<void> {
    for (const store of this.#opened) await store.close()
    await this.#redis?.close()
    if (this.#folder) rmSync(this.#folder, { recursive: true, force: true })
  }
}

/** Where the owner begins in the name of a lock. */
const LOCK_PREFIX = 18

/** Methods that give an owner something, and note who that is. */
function noting(store: TaskStore, owners: Set<string>): Partial<TaskStore> {
  const { homes } = store
  const notes = (owner: string) => void owners.add(owner)
  return {
    turn(step) {
      notes(step.owner)
      return store.turn(step)
    },
    enqueue(tasks, lease) {
      if (lease) notes(lease.owner)
      return store.enqueue(tasks, lease)
    },
    ...(homes && {
      homes: {
        ...homes,
        holdHome(owner, forMs) {
          notes(owner)
          return homes.holdHome(owner, forMs)
        },
      },
    }),
  }
}
