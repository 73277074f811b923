/** axios-retry's interface, on a queue: for Node, and for pages while they are developed. */

import { type AxiosRetry, makeAxiosRetry } from './compat/axios-retry/make.ts'
import { CHECKS } from './options/checks.ts'
import { RetryQueue } from './queue/queue.ts'

export * from './compat/axios-retry/exports.ts'

const axiosRetry: AxiosRetry = /* @__PURE__ */ makeAxiosRetry(
  (options) => new RetryQueue(options, () => import('./queue/chunk.node.ts'), CHECKS),
)
export default axiosRetry
