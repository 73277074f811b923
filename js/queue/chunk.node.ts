/** The core chunk where the modules are files beside the code: Node and Bun. */

import { instantiate } from '../core/file.ts'
import { prepareWith } from './chunk.ts'
import type { EngineModule } from './core-loader.ts'

export { CHECKS, signedFirst } from './chunk.ts'

export const prepare: EngineModule['prepare'] = prepareWith(instantiate, {
  keys: () => import('../core/keys-file.ts').then(({ instantiateKeys }) => instantiateKeys()),
  store: () => import('../durable/open.ts'),
  pages: () => import('../stores/indexeddb.ts'),
})
