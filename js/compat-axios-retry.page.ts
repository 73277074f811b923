/** axios-retry's interface, on a queue: for the production bundles of pages. */

import { type AxiosRetry, makeAxiosRetry } from './compat/axios-retry/make.ts'
import { RetryQueue } from './index.page.ts'

export * from './compat/axios-retry/exports.ts'

const axiosRetry: AxiosRetry = /* @__PURE__ */ makeAxiosRetry(RetryQueue)
export default axiosRetry
