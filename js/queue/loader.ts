/** The core's chunk as the entry knows it. */

import type { TaskStore } from '../api/store.ts'
import type { StoredTaskManager } from '../durable/manager.ts'
import type { Clock } from '../platform/clock.ts'
import type { Intake } from '../runner/admission.ts'
import type { Host } from '../runner/context.ts'
import type { Desk } from '../runner/manager.ts'
import type { Runner } from '../runner/runner.ts'

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
    opened: (desk: StoredTaskManager) => void,
  ): Promise<void>
}

/** What the chunk with a page's own store exports. */
export interface PageStoreModule {
  indexedDbStore(options: { readonly name: string; readonly clock: Clock }): TaskStore
}
