/** axios-retry's interface, on a queue: for runtimes that compile WebAssembly ahead. */

import { type AxiosRetry, makeAxiosRetry } from './compat/axios-retry/make.ts'
import { RetryQueue } from './index.workerd.ts'

export * from './compat/axios-retry/exports.ts'

const axiosRetry: AxiosRetry = /* @__PURE__ */ makeAxiosRetry((options) => new RetryQueue(options))
export default axiosRetry
