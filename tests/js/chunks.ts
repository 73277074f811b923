/** Ways to the chunks of a queue, as an entry gives them. */

import { instantiateKeys } from '../../js/core/keys-file.ts'
import type { Parts } from '../../js/runner/parts.ts'

export const chunks: Parts = {
  keys: instantiateKeys,
  store: () => import('../../js/durable/open.ts'),
  pages: () => import('../../js/stores/indexeddb.ts'),
  words: () => import('../../js/tasks/explain.ts'),
}
