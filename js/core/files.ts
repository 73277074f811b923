/** The decisions of the core as functions, of the modules that lie as files beside the code: in Node, where `loadCore` of `redrive/core` would unpack text. */

import type { Core } from './functions.ts'
import { once } from './instance.ts'

/** Loads the core once; later calls share it. Rejects where WebAssembly cannot start. */
export const loadCore: () => Promise<Core> = once(async () => {
  const [{ makeCore }, { instantiate }, { instantiateKeys }] = await Promise.all([
    import('./functions.ts'),
    import('./file.ts'),
    import('./keys-file.ts'),
  ])
  return makeCore(...(await Promise.all([instantiate(), instantiateKeys()])))
})
