/** The core chunk for service workers, which have no `import()`: everything is imported statically. */

import { instantiate } from '../core/inline.ts'
import { instantiateKeys } from '../core/keys-inline.ts'
import * as store from '../durable/open.ts'
import * as pages from '../stores/indexeddb.ts'
import * as words from '../tasks/explain.ts'
import { assemble } from './assemble.ts'
import type { EngineModule } from './core-loader.ts'

export { signedFirst } from '../call/sign.ts'
export { CHECKS } from '../options/checks.ts'

export const prepare: EngineModule['prepare'] = assemble(instantiate, {
  keys: instantiateKeys,
  store: async () => store,
  pages: async () => pages,
  words: async () => words,
}).prepare
