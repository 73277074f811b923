/** The core chunk of the default entry, loaded for the first call that fails or is enqueued. */

import { instantiate } from '../core/inline.ts'
import type { Parts } from '../runner/parts.ts'
import { PrincipalNews } from '../runner/principal-news.ts'
import { wordsChunk } from '../runner/words-chunk.ts'
import { assemble } from './assemble.ts'
import type { EngineModule } from './core-loader.ts'

export { signedFirst } from '../call/sign.ts'
export { EARLY_CHECKS as CHECKS } from '../options/early-checks.ts'

/** `chunk.node.ts` knows another place for the modules, and no need to have two parts in one file. */
export const prepareWith = (
  start: typeof instantiate,
  parts: Pick<Parts, 'keys' | 'store' | 'pages'>,
): EngineModule['prepare'] =>
  assemble(start, {
    ...parts,
    ...wordsChunk(() => import('../tasks/explain.ts')),
    newsFor: (runner) => new PrincipalNews(runner),
  }).prepare

const durablePage = () => import('./durable-page.ts')

export const prepare: EngineModule['prepare'] = prepareWith(instantiate, {
  keys: () => import('../core/keys-inline.ts').then(({ instantiateKeys }) => instantiateKeys()),
  store: durablePage,
  pages: durablePage,
})
