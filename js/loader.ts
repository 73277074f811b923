/** The core's chunk as the entry knows it. */

import type { Clock } from './clock.ts'
import type { Desk } from './desk.ts'
import type { StoredDesk } from './durable/desk.ts'
import type { Host } from './host.ts'
import type { Intake } from './intake.ts'
import type { Runner } from './runner.ts'
import type { TaskStore } from './stores/store.ts'

/** What the core's chunk exports. */
export interface EngineModule {
  /** Starts the core, and gives what makes a runner on it. Rejects with a RedriveError of code 'wasm_refused' where WebAssembly cannot start. */
  prepare(wasm: unknown): Promise<(host: Host) => Desk>
}

/** How the entry in use gets that chunk. */
export type EngineSource = () => Promise<EngineModule>

/** What the chunk of durable queues exports. */
export interface StoreModule {
  /** `pages`: the way to the store of pages, where none was given. Resolves after the first try, and never rejects: where the store cannot be had, it tries again by itself. */
  openStore(
    pages: () => Promise<PageStoreModule>,
    runner: Runner,
    intake: Intake,
    opened: (desk: StoredDesk) => void,
  ): Promise<void>
}

/** What the chunk with a page's own store exports. */
export interface PageStoreModule {
  indexedDbStore(options: { readonly name: string; readonly clock: Clock }): TaskStore
}
