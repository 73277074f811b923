/** axios-retry's options, asked in turn about an error. */

import type { AxiosError, InternalAxiosRequestConfig } from 'axios'
import type { Clock } from '../../platform/clock.ts'
import type { State } from './options.ts'

/** The milliseconds until another attempt, for which `config` is made ready; undefined: there is to be none. Rejects with what an option throws. */
export async function waitBeforeRetry(
  config: InternalAxiosRequestConfig,
  state: State,
  error: AxiosError,
  clock: Clock,
): Promise<number | undefined> {
  // also where `retries` is no number
  if (!(state.retryCount < state.retries) || !(await isWanted(state, error))) return undefined
  state.retryCount += 1
  const { retryCount, retryDelay, shouldResetTimeout, lastRequestTime } = state
  // a function without a `return` waits for nothing
  const delayMs = Math.max(0, retryDelay(retryCount, error) || 0)
  if (!shouldResetTimeout && config.timeout) {
    const leftMs = config.timeout - (clock.now() - lastRequestTime) - delayMs
    if (leftMs <= 0) throw error
    config.timeout = leftMs
  }
  // done already
  config.transformRequest = [(data) => data]
  await state.onRetry(retryCount, error, config)
  return delayMs
}

async function isWanted({ retryCondition }: State, error: AxiosError): Promise<boolean> {
  const said = retryCondition(error)
  if (typeof said !== 'object') return said
  try {
    return (await said) !== false
  } catch {
    // a promise that is rejected says no
    return false
  }
}
