/** redrive/core where the wasm is a static import. */

import { type Core, makeCore } from './core/functions.ts'
import { instantiateKeys } from './core/keys-static.ts'
import { instantiate } from './core/static.ts'

export type { BackoffStrategy, JitterType, RetryPolicy } from './api/policy.ts'
export type { CircuitState, RetryDecision } from './api/task.ts'
export type { BackoffContext, BackoffStep, Core, KeyedRequest } from './core/functions.ts'
export type { Sanitized } from './core/sanitizer.ts'
export type { SanitizeOptions } from './options/sanitize.ts'

/** Loads the core once; later calls share it. Rejects where WebAssembly cannot start. */
export async function loadCore(): Promise<Core> {
  const [engine, keys] = await Promise.all([instantiate(), instantiateKeys()])
  return makeCore(engine, keys)
}
