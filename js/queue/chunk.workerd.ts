/** The core chunk for Workers, which must import their wasm statically. */

import { instantiateKeys } from '../core/keys-static.ts'
import { instantiate } from '../core/static.ts'
import * as store from '../durable/open.ts'
import { assemble } from './assemble.ts'
import type { EngineModule } from './core-loader.ts'

export { signedFirst } from '../call/sign.ts'
export { CHECKS } from '../options/checks.ts'

export const prepare: EngineModule['prepare'] = assemble(
  instantiate,
  instantiateKeys,
  async () => store,
  async () => {
    throw new Error('this runtime has no store of its own: pass one as `store`')
  },
).prepare
