/** The core's chunk as the entry knows it. */

import type { QueueContext } from '../runner/context.ts'
import type { TaskManager } from '../runner/manager.ts'

/** What the core's chunk exports. */
export interface EngineModule {
  /** Starts the core, and gives what makes a runner on it. Rejects with a RedriveError of code 'wasm_refused' where WebAssembly cannot start. */
  prepare(wasm: unknown): Promise<(host: QueueContext) => TaskManager>
}

/** How the entry in use gets that chunk. */
export type EngineSource = () => Promise<EngineModule>
