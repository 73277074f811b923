/** The decisions of the core as functions, for all of the service: loaded once, from the files beside the code. */

import { type Core, makeCore } from '../core/functions.ts'

let loading: Promise<Core> | undefined

/** Rejects where WebAssembly cannot start. */
export function loadCore(): Promise<Core> {
  loading ??= start()
  return loading
}

async function start(): Promise<Core> {
  const [{ instantiate }, { instantiateKeys }] = await Promise.all([
    import('../core/file.ts'),
    import('../core/keys-file.ts'),
  ])
  const [engine, keys] = await Promise.all([instantiate(), instantiateKeys()])
  return makeCore(engine, keys)
}
