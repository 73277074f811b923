/** The names that axios-retry exports, which its entries share beside the default one. */

import type { IAxiosRetryConfigExtended } from './options.ts'

export * from './conditions.ts'
export * from './delays.ts'
export type { AxiosRetry } from './make.ts'
export {
  type AxiosRetryOptions,
  DEFAULT_OPTIONS,
  type IAxiosRetryConfig,
  type IAxiosRetryConfigExtended,
  type IAxiosRetryReturn,
  namespace,
} from './options.ts'

declare module 'axios' {
  interface AxiosRequestConfig {
    'axios-retry'?: IAxiosRetryConfigExtended
  }
}
