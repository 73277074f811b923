/** The same, where nothing can be loaded later: a service worker has no `import()`. */

import { instantiate } from '../core/inline.ts'
import { instantiateKeys } from '../core/keys-inline.ts'
import * as store from '../durable/open.ts'
import * as pages from '../stores/indexeddb.ts'
import { preparing } from './assemble.ts'
import type { EngineModule } from './loader.ts'

export const prepare: EngineModule['prepare'] = preparing(
  instantiate,
  instantiateKeys,
  async () => store,
  async () => pages,
)
