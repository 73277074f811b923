/** The types of axios as a CommonJS program has them, by `require`, told of axios-retry's options. */
import type { AxiosInstance } from 'axios'
import type { IAxiosRetryConfigExtended } from './options.ts' with { 'resolution-mode': 'import' }

declare module 'axios' {
  interface AxiosRequestConfig {
    'axios-retry'?: IAxiosRetryConfigExtended
  }
}

export type { AxiosInstance }
