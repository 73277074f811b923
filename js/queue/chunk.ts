/** The lazy chunk of the default entry: what only a failed or enqueued call needs. */

import { instantiate } from '../core/inline.ts'
import { preparing } from './assemble.ts'
import type { EngineModule } from './loader.ts'

export const prepare: EngineModule['prepare'] = preparing(
  instantiate,
  () => import('../core/keys-inline.ts').then(({ instantiateKeys }) => instantiateKeys()),
  () => import('../durable/open.ts'),
  () => import('../stores/indexeddb.ts'),
)
