/** Fetching and starting the core, and saying which of the two failed: one may pass, the other will not. */

import type { Engine } from './core/engine.ts'
import type { Desk } from './desk.ts'
import { errorText } from './error-text.ts'
import type { Runner } from './runner.ts'
import type { DegradedCode } from './types.ts'

/** What the core's chunk exports. */
export interface EngineModule {
  instantiate(wasm?: unknown): Promise<Engine>
  readonly Runner: typeof Runner
  readonly Desk: typeof Desk
}

/** How the entry in use gets that chunk. */
export interface EngineSource {
  /** false: it is already here, there is nothing to prefetch. */
  readonly lazy: boolean
  load(): Promise<EngineModule>
}

export class Unloadable extends Error {
  readonly code: DegradedCode

  constructor(code: DegradedCode, message: string, cause: unknown) {
    super(message, { cause })
    this.code = code
  }

  static unreachable(cause: unknown): Unloadable {
    const message = `the core could not be loaded (${errorText(cause)}): calls are plain fetch`
    return new Unloadable('core_unreachable', message, cause)
  }
}

export async function loadEngine(
  source: EngineSource,
  wasm: unknown,
): Promise<{ readonly module: EngineModule; readonly engine: Engine }> {
  const module = await source.load().catch((error) => {
    throw Unloadable.unreachable(error)
  })
  try {
    return { module, engine: await module.instantiate(wasm) }
  } catch (error) {
    const message = `no WebAssembly (${errorText(error)}): calls are plain fetch; a Content-Security-Policy needs script-src 'wasm-unsafe-eval'`
    throw new Unloadable('wasm_refused', message, error)
  }
}
