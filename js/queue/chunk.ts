/** The core chunk of the default entry, loaded for the first call that fails or is enqueued. */

import { instantiate } from '../core/inline.ts'
import type { Parts } from '../runner/parts.ts'
import { PrincipalNews } from '../runner/principal-news.ts'
import { wordsChunk } from '../runner/words-chunk.ts'
import { assemble } from './assemble.ts'
import type { EngineModule } from './core-loader.ts'

export { signedFirst } from '../call/sign.ts'
export { EARLY_CHECKS as CHECKS } from '../options/early-checks.ts'

/** `chunk.node.ts` knows another place for the modules. */
export const prepareWith = (start: typeof instantiate, keys: Parts['keys']): EngineModule['prepare'] =>
  assemble(start, {
    keys,
    store: () => import('../durable/open.ts'),
    pages: () => import('../stores/indexeddb.ts'),
    ...wordsChunk(() => import('../tasks/explain.ts')),
    newsFor: (runner) => new PrincipalNews(runner),
  }).prepare

export const prepare: EngineModule['prepare'] = prepareWith(instantiate, () =>
  import('../core/keys-inline.ts').then(({ instantiateKeys }) => instantiateKeys()),
)
