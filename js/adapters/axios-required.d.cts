/**
 * The types of axios as a CommonJS program has them, by `require`. To a compiler they are others than those of its ES module, and have to
 * be told of `redrive`, too. Their errors and calls cannot be added to: `redriveOf(error)` and `isAccepted(answer)` do it.
 */
import type { AxiosInstance, AxiosResponse } from 'axios'
import type { RedriveMark } from '../api/mark.ts' with { 'resolution-mode': 'import' }
import type { TaskOptions } from '../options/task-options.ts' with { 'resolution-mode': 'import' }

declare module 'axios' {
  interface AxiosRequestConfig {
    /** How redrive treats this call; `false`: not at all. */
    redrive?: TaskOptions | false
  }
  interface AxiosResponse {
    /** Put on the last answer of a call that was given up. */
    readonly redrive?: RedriveMark
  }
}

export type { AxiosInstance, AxiosResponse }
