/** The options of one call. Their checks are in `task-rules.ts`. */

import type { RetryHooks, RetryNotice } from '../api/hooks.ts'
import type { RetryPolicy } from '../api/policy.ts'

/**
 * Per call: `init.redrive`, Axios `config.redrive`. `false` turns redrive off for the call. A `shouldRetry` or `delay` of the call is
 * asked before the queue's, which is asked where that gives undefined.
 *
 * @example
 * const redrive: TaskOptions = { mode: 'defer', policyId: 'orders', tags: ['order-7'], waitMs: 1_000 }
 * await queue.fetch('/api/orders', { method: 'POST', body, redrive })
 */
export interface TaskOptions extends RetryHooks {
  /** The name of one of the queue's policies. @default 'default' */
  readonly policyId?: string
  /** Replaces fields of that policy for this call, whether its caller waits or it is in the background. @default none */
  readonly policy?: Partial<RetryPolicy>
  /** The call's idempotency key: 1 to 255 visible ASCII characters. @default made by the queue */
  readonly idempotencyKey?: string
  /**
   * 'await' settles with the final outcome, within `waitMs`; 'defer' with the first attempt's answer or, if that fails or takes longer
   * than `waitMs`, with a 202. An answer that no retry can follow is returned as it is. The 202 comes as soon as the task is held: its body and
   * the headers `redrive-task-id` and `redrive-durability` say which task, and where it is kept. An attempt that is under way then goes
   * on, and its answer counts. @default 'await'; in a Worker none: a write that keeps failing moves to its object
   */
  readonly mode?: 'await' | 'defer'
  /**
   * The longest that the caller waits for the headers of an answer, in milliseconds, whatever the call waits for: its server, a hook, a
   * store that is blocked. 'await': when the next attempt would start later, or with less than 100 ms left, the caller gets the last answer or error now; an attempt that
   * is under way at its end is aborted, with a TimeoutError. A call with neither rejects with `WAIT_EXCEEDED`. The task ends 'wait_exceeded': it
   * never goes on behind a caller that has its failure. Unless `waitMs` is given, it ends so between two attempts when another principal
   * is there (`setPrincipal`). 'defer': then comes the 202, and in a Worker the attempt ends; a call that cannot be kept waits for its
   * attempt. Where `waitMs` is given, and the call is neither kept nor refused by then or within 2 s, it ends as with 'await'. `enqueue`:
   * the longest wait for the receipt.
   * The body of a Request is waited for as long as one of `maxBodyBytes` would be, unless `waitMs` is given.
   * @default 'await': 30_000, and the time that the request's body needs at 50 KB/s; in a Worker what is left of 25_000. 'defer': 2_000, and in a Worker none: its attempts there take 10 s at most.
   * `enqueue`: none
   */
  readonly waitMs?: number
  /** Among due tasks, those with a higher number go first. A whole number of 32 bits. @default 0 */
  readonly priority?: number
  /**
   * Tasks of one `orderKey` run one after another, in the order in which they came; one that was given up makes way for the next. Such a call has no first attempt
   * of its own that goes out at once: it waits for its turn, and counts in the queue's limits. With a `TaskStore` the turn is
   * the store's to give: the call is stored, whatever its method. One that may not be stored rejects with `ORDER_NOT_STORED`,
   * and while the store cannot be had with `STORAGE_UNAVAILABLE`, both unsent. A body over `maxBodyBytes` is refused with
   * `BODY_TOO_LARGE`. Requests that pass through (no-cors, keepalive, navigation) are in no order.
   * @default none: the task waits for no other
   */
  readonly orderKey?: string
  /** Aborting `signal` then ends only the wait of the caller, not the task. @default false */
  readonly detach?: boolean
  /**
   * 'on-401': if the caller's own first attempt is answered with 401, the queue's `credentials` entry of its origin is called at once, with
   * `unauthorized: true`, and the call is sent once more with its headers, under the same key. That counts as an attempt. A second
   * 401 goes to the caller, and so does the first if the entry gives nothing. A body over `maxBodyBytes` is not sent again. @default none: the 401 is the caller's
   */
  readonly credentials?: 'on-401'
  /** Declares the request safe to repeat without a key. @default false */
  readonly idempotent?: boolean
  /** Never written to a store: the task stays in memory. With an `orderKey` and a `TaskStore` it is refused. @default false */
  readonly sensitive?: boolean
  /** See `RetryQueueOptions`. @default the queue's */
  readonly allowMemory?: boolean
  /** No attempt starts after this time, in epoch milliseconds. @default none */
  readonly expiresAt?: number
  /**
   * JSON values that describe the task, such as the id of an order: shown by `get`, `list`, events and exports, and stored with the task, but
   * never sent. It is copied at the call, as JSON. Do not put a credential into it. A call that joins another's task does not change that
   * task's. Its JSON has at most 4,096 bytes; a larger one throws a `RedriveError` of code 'META_TOO_LARGE'.
   * @default none
   */
  readonly meta?: object
  /** Words by which `list({ tags })` finds the task; otherwise like `meta`. At most 16, of 1 to 64 characters each. @default none */
  readonly tags?: readonly string[]
  /** Called before the wait for each retry of this call, as `on('retry')` is, for as long as this process has the task. @default none */
  readonly onRetry?: (retry: RetryNotice) => void
}
