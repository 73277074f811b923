/** The options of one call, their checks, and the policy they come to. */

import type { RetryPolicy } from '../api/policy.ts'
import { check, flag, follow, int, ms, object, oneOf, pattern, type Rules, text } from './check.ts'
import { type ResolvedPolicy, resolvePolicy } from './policy.ts'

/** Per call: `init.redrive`, Axios `config.redrive`. `false` turns redrive off for the call. */
export interface TaskOptions {
  /** One of the queue's policies. @default 'default' */
  readonly policyId?: string
  /** Laid over that policy for this call. */
  readonly policy?: Partial<RetryPolicy>
  /** 1 to 255 visible ASCII characters. @default made by the queue */
  readonly idempotencyKey?: string
  /**
   * 'await' settles with the final outcome within waitMs. 'defer': attempt 1 runs; a success or a refusal is returned
   * as it is; after a retryable failure a 202 as soon as the task is held, whose body and headers `redrive-task-id` and
   * `redrive-durability` say which task, and where it is kept. @default 'await'
   */
  readonly mode?: 'await' | 'defer'
  /**
   * 'await': when the next attempt would start later than this after the call, the caller gets the last answer or error
   * now and the task ends 'wait_exceeded': it never goes on behind a caller who was told it failed. @default 30_000
   */
  readonly waitMs?: number
  /** Higher first among due tasks. A whole number of 32 bits. @default 0 */
  readonly priority?: number
  /**
   * Tasks of one `orderKey` run one after another, in the order in which they came. Such a call has no first attempt
   * of its own that goes out at once: it waits for its turn, and counts in the queue's limits. With a `TaskStore` the turn is
   * the store's to give: the call is stored, whatever its method. One that may not be stored rejects with `ORDER_NOT_STORED`,
   * and while the store cannot be had with `STORAGE_UNAVAILABLE`, both unsent. A body over `maxBodyBytes` is refused with
   * `BODY_TOO_LARGE`. Requests that pass through (no-cors, keepalive, navigation) are in no order.
   */
  readonly orderKey?: string
  /** Aborting `signal` ends only the waiting, not the task. */
  readonly detach?: boolean
  /** The caller vouches: may be retried without a key. */
  readonly idempotent?: boolean
  /** Never written to a store: the task stays in memory. With an `orderKey` and a `TaskStore` it is refused. */
  readonly sensitive?: boolean
  /** Epoch ms; no attempt starts after it. */
  readonly expiresAt?: number
}

const TASK_RULES: Rules<TaskOptions> = {
  policyId: text,
  policy: object,
  idempotencyKey: pattern('1 to 255 visible ASCII characters', /^[\x21-\x7e]{1,255}$/),
  mode: oneOf('string', 'await', 'defer'),
  waitMs: ms(),
  priority: int(-(2 ** 31), 2 ** 31 - 1),
  orderKey: text,
  detach: flag,
  idempotent: flag,
  sensitive: flag,
  expiresAt: ms(),
}

/** Checks the options of one call, or an adapter's defaults for them. */
export function checkTask(given: TaskOptions): void {
  check('redrive', given, TASK_RULES)
}

/** Checks the options of one call and gives the policy they come to. */
export function taskPolicy(policies: ReadonlyMap<string, ResolvedPolicy>, given: TaskOptions): ResolvedPolicy {
  checkTask(given)
  const id = given.policyId ?? 'default'
  const base = policies.get(id)
  if (!base) follow('redrive.policyId', id, oneOf('string', ...policies.keys()))
  return given.policy ? resolvePolicy(given.policy, base, 'redrive.policy') : (base as ResolvedPolicy)
}
