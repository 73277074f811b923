/** axios-retry's options, as those of a call of the queue. */

import type { InternalAxiosRequestConfig } from 'axios'
import type { RetryPolicy } from '../../api/policy.ts'
import type { TaskOptions } from '../../options/task-options.ts'
import { MAX_TIMER_MS } from '../../platform/clock.ts'
import { DEFAULT_OPTIONS, type State } from './options.ts'

/** The most that a policy may have. Not imported: that module comes with the core. */
const MOST_ATTEMPTS = 1_000_000

/** Options of a call that have another name here. */
const SAID_BY: Partial<Record<keyof TaskOptions, string>> = {
  shouldRetry: 'retryCondition',
  delay: 'retryDelay',
}

export interface CallTerms {
  /** The queue was made for this instance, and has no say in time limits. */
  readonly isPrivate: boolean
  /** Set where the first attempt is over: how long after it the next one is to be made. */
  readonly waitedMs: number | undefined
}

/** `given`: the `redrive` of its config. */
export function taskOptions(
  given: TaskOptions,
  { timeout = 0 }: InternalAxiosRequestConfig,
  { retries, retryCount, retryCondition, shouldResetTimeout }: State,
  { isPrivate, waitedMs }: CallTerms,
): TaskOptions {
  for (const [name, own] of Object.entries(SAID_BY)) {
    if (name in given) throw new TypeError(`redrive.${name}: with axiosRetry() it is ${own} that says it`)
  }
  if (given.mode === 'defer') {
    throw new TypeError("redrive.mode: axiosRetry() waits for the answer; attachToAxios() takes 'defer'")
  }
  const made = waitedMs === undefined ? 0 : 1
  const attempts = Math.ceil(retries - retryCount) + 1 + made
  const policy: Partial<RetryPolicy> = { maxAttempts: Math.min(Math.max(attempts, 1) || 1, MOST_ATTEMPTS) }
  // of all attempts together: the waits that the queue adds, too, end by then
  const budget = { totalBudgetMs: Math.ceil(timeout + (waitedMs ?? 0)), estimatedCallMs: 0 }
  return {
    ...(isPrivate ? { waitMs: MAX_TIMER_MS } : {}),
    // the answer that is lost may be that of an order: only who has a condition of their own has said that it may be sent twice
    ...(retryCondition === DEFAULT_OPTIONS.retryCondition ? {} : { idempotent: true }),
    ...given,
    policy: { ...(timeout > 0 && !shouldResetTimeout ? budget : {}), ...given.policy, ...policy },
  }
}
