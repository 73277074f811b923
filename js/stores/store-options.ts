/**
 * Options that stores share, checked when a store is made. The defaults are those of a queue, and a test holds them to that:
 * imported from the queue's own tables, they would cost every page the seam between two chunks.
 */

import type { StoreTerms } from '../api/store.ts'
import { check, fn, follow, int, ms, object, type Rules } from '../options/check.ts'
import type { RetentionOptions } from '../options/retention.ts'
import { type Clock, DAY_MS, FOREVER, systemClock } from '../platform/clock.ts'

export interface TermsOptions {
  /** For tests: see `redrive/testing`. @default the system's */
  readonly clock?: Clock
  /** Tasks pending, in flight or dead letters, until a queue says otherwise. 1 to 1,000,000. @default 10_000 */
  readonly capacity?: number
  /** Their bodies, in bytes. @default 50 MiB */
  readonly capacityBytes?: number
  /** How long tasks that have ended are kept, until a queue says otherwise. @default `{}` */
  readonly retention?: RetentionOptions
}

export const TERMS_RULES: Rules<TermsOptions> = {
  clock: object,
  capacity: int(1, 1e6),
  capacityBytes: int(0, Number.MAX_SAFE_INTEGER),
  retention: object,
}

const RETENTION_RULES: Rules<RetentionOptions> = {
  terminalMs: ms(),
  maxTerminal: int(0, 1e6),
  deadLetterMs: ms(),
  maxDeadLetters: int(0, 1e6),
}

/** `what` names the options in messages; the caller has checked them with `TERMS_RULES`. */
export function resolveTerms(what: string, given: TermsOptions): { readonly clock: Clock; readonly terms: StoreTerms } {
  const { clock = systemClock, capacity = 10_000, capacityBytes = 50 * 2 ** 20, retention = {} } = given
  for (const part of ['now', 'monotonic', 'after'] as const) follow(`${what}.clock.${part}`, clock[part], fn)
  check(`${what}.retention`, retention, RETENTION_RULES)
  const { terminalMs = DAY_MS, maxTerminal = 10_000, deadLetterMs = 30 * DAY_MS, maxDeadLetters = FOREVER } = retention
  return {
    clock,
    terms: {
      capacity,
      capacityBytes,
      maxLaneHoldMs: 60_000,
      retention: { terminalMs, maxTerminal, deadLetterMs, maxDeadLetters },
    },
  }
}
