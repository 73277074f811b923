/** redrive/core where the wasm is a static import. */

import { type Core, makeCore } from './core/api.ts'
import { instantiate } from './core/static.ts'

export type { BackoffContext, Core } from './core/api.ts'
export type { BackoffStrategy, JitterType, RetryPolicy } from './policy.ts'
export type { CircuitState, RetryDecision } from './types.ts'

/** Loads the core once; later calls share it. Rejects where WebAssembly cannot start. */
export async function loadCore(): Promise<Core> {
  return makeCore(await instantiate())
}
