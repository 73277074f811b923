/** The same, where the wasm is a static import. */

import { instantiateKeys } from '../core/keys-static.ts'
import { instantiate } from '../core/static.ts'
import * as store from '../durable/open.ts'
import { preparing } from './assemble.ts'
import type { EngineModule } from './loader.ts'

export const prepare: EngineModule['prepare'] = preparing(
  instantiate,
  instantiateKeys,
  async () => store,
  async () => {
    throw new Error('this runtime has no store of its own: pass one as `store`')
  },
)
