/** axios-retry's interface, on a queue: for the production bundles of pages. */

import { type AxiosRetry, makeAxiosRetry } from './compat/axios-retry/make.ts'
import { RetryQueue } from './queue/queue.ts'

export * from './compat/axios-retry/exports.ts'

const axiosRetry: AxiosRetry = /* @__PURE__ */ makeAxiosRetry(
  (options) => new RetryQueue(options, () => import('./queue/chunk.ts')),
)
export default axiosRetry
