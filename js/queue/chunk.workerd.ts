/** The core chunk for Workers, which must import their wasm statically. */

import { instantiateKeys } from '../core/keys-static.ts'
import { instantiate } from '../core/static.ts'
import * as store from '../durable/open.ts'
import * as words from '../tasks/explain.ts'
import { assemble } from './assemble.ts'
import type { EngineModule } from './core-loader.ts'

export { signedFirst } from '../call/sign.ts'
export { CHECKS } from '../options/checks.ts'

export const prepare: EngineModule['prepare'] = assemble(instantiate, {
  keys: instantiateKeys,
  store: async () => store,
  pages: async () => {
    throw new Error('this runtime has no store of its own: pass one as `store`')
  },
  words: async () => words,
}).prepare
