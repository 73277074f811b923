/** redrive/core: the decisions alone, as pure functions after one await. */

import { type Core, makeCore } from './core/api.ts'

export type { BackoffContext, BackoffStep, Core, KeyedRequest } from './core/api.ts'
export type { SanitizeOptions } from './options.ts'
export type { BackoffStrategy, JitterType, RetryPolicy } from './policy.ts'
export type { Sanitized } from './sanitizer.ts'
export type { CircuitState, RetryDecision } from './types.ts'

/** Loads the core once; later calls share it. Rejects where WebAssembly cannot start. */
export async function loadCore(): Promise<Core> {
  const [{ instantiate }, { instantiateKeys }] = await Promise.all([
    import('./core/inline.ts'),
    import('./core/keys-inline.ts'),
  ])
  const [engine, keys] = await Promise.all([instantiate(), instantiateKeys()])
  return makeCore(engine, keys)
}
