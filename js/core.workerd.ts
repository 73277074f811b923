/** redrive/core where the wasm is a static import. */

import { type Core, makeCore } from './core/api.ts'
import { instantiateKeys } from './core/keys-static.ts'
import { instantiate } from './core/static.ts'

export type { BackoffContext, BackoffStep, Core, KeyedRequest } from './core/api.ts'
export type { SanitizeOptions } from './options.ts'
export type { BackoffStrategy, JitterType, RetryPolicy } from './policy.ts'
export type { Sanitized } from './sanitizer.ts'
export type { CircuitState, RetryDecision } from './types.ts'

/** Loads the core once; later calls share it. Rejects where WebAssembly cannot start. */
export async function loadCore(): Promise<Core> {
  const [engine, keys] = await Promise.all([instantiate(), instantiateKeys()])
  return makeCore(engine, keys)
}
