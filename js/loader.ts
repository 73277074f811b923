/** The core's chunk as the entry knows it, and the error that says why there is none. */

import type { Desk } from './desk.ts'
import type { Host } from './host.ts'
import type { DegradedCode } from './types.ts'

/** What the core's chunk exports. */
export interface EngineModule {
  /** Starts the core, and gives what makes a runner on it. Rejects with `Unloadable` where WebAssembly cannot start. */
  prepare(wasm: unknown): Promise<(host: Host) => Desk>
}

/** How the entry in use gets that chunk. */
export interface EngineSource {
  /** false: it is already here, there is nothing to prefetch. */
  readonly lazy: boolean
  load(): Promise<EngineModule>
}

/** 'core_unreachable' may pass; 'wasm_refused' will not. */
export class Unloadable extends Error {
  readonly code: DegradedCode

  constructor(code: DegradedCode, message: string, cause: unknown) {
    super(message, { cause })
    this.code = code
  }
}
