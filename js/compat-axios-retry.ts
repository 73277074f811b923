/** axios-retry's interface, on a queue: for Node, and for pages while they are developed. */

import { type AxiosRetry, makeAxiosRetry } from './compat/axios-retry/make.ts'
import { RetryQueue } from './index.ts'

export * from './compat/axios-retry/exports.ts'

const axiosRetry: AxiosRetry = /* @__PURE__ */ makeAxiosRetry(RetryQueue)
export default axiosRetry
