/**
 * The core for the elements: `redrive/core`, loaded by the first element that computes something. The entry says how, since a folder imports no entry; and
 * what is bundled into this entry is for people who look, never a second copy of the decisions.
 */

import type { Core } from 'redrive/core'

let load: (() => Promise<Core>) | undefined
let loading: Promise<Core> | undefined

/** Called by the entry, once. */
export function coreComesFrom(from: () => Promise<Core>): void {
  load = from
}

/** Rejects where WebAssembly cannot start; asked again, it tries again. */
export function theCore(): Promise<Core> {
  if (!load) return Promise.reject(new Error('the elements of @redrive/ui are used without their entry'))
  loading ??= load().catch((error: unknown) => {
    loading = undefined
    throw error
  })
  return loading
}
