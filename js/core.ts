/** redrive/core: the decisions alone, as pure functions after one await. */

import { type Core, makeCore } from './core/api.ts'

export type { BackoffContext, Core } from './core/api.ts'
export type { BackoffStrategy, JitterType, RetryPolicy } from './policy.ts'
export type { CircuitState, RetryDecision } from './types.ts'

/** Loads the core once; later calls share it. Rejects where WebAssembly cannot start. */
export async function loadCore(): Promise<Core> {
  const { instantiate } = await import('./core/inline.ts')
  return makeCore(await instantiate())
}
