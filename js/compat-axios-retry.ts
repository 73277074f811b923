/** axios-retry's interface on a queue, for Node and for pages while they are developed. */

import { makeAxiosRetry } from './compat/axios-retry.ts'
import { RetryQueue } from './index.ts'

export * from './compat/axios-retry.ts'
export default makeAxiosRetry((options) => new RetryQueue(options))
