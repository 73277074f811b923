/**
 * How soon others go on with what a killed process was at: from its SIGKILL to the next attempt, as the server saw it, of each
 * task that it had a lease of. What a process that was killed had claimed and not sent yet counts like what it had sent.
 */

import type { Visit } from '../servers/start.mjs'
import { atMost, type Check, FOREVER, grouped } from './checks.ts'
import type { Figure } from './evidence.ts'
import type { LeaseSpan } from './log.ts'
import { leaseOf } from './processes.ts'

export const P99_MS = 2_000

export interface TakeoverFacts {
  readonly leases: ReadonlyMap<number, LeaseSpan>
  readonly visits: readonly Visit[]
  /** When which life was killed. */
  readonly killed: ReadonlyMap<string, number>
}

/** Milliseconds, from the least to the most; Infinity: never. */
export function takeoversOf({ leases, visits, killed }: TakeoverFacts): readonly number[] {
  const attempts = grouped(visits, (visit) => leaseOf(visit, leases)?.taskId)
  return [...leases.values()]
    .flatMap(({ taskId, life, settlingAt, successAt }) => {
      const at = killed.get(life)
      // one that was about to be settled may have been; and one whose end a later life of it told is over
      if (at === undefined || settlingAt < FOREVER || successAt < FOREVER) return []
      const next = attempts.get(taskId)?.find(({ startedAt }) => startedAt >= at)?.startedAt ?? FOREVER
      return [Math.round(next - at)]
    })
    .sort((a, b) => a - b)
}

export function judgeTakeovers(
  who: string,
  times: readonly number[],
): { readonly checks: readonly Check[]; readonly figures: readonly Figure[] } {
  const p50 = quantile(times, 0.5)
  const p99 = quantile(times, 0.99)
  return {
    checks: [
      { ...atMost(`taken over from ${who}, tasks`, times.length, FOREVER), ok: times.length > 0, wanted: 'some' },
      atMost(`taken over from ${who}, p99 ms`, p99, P99_MS),
    ],
    figures: [
      [`taken over from ${who}`, times.length, `p50 ${p50} ms, p99 ${p99} ms, worst ${times.at(-1) ?? '-'} ms`],
    ],
  }
}

/** The least that a share of them does not exceed. */
export const quantile = (sorted: readonly number[], share: number): number =>
  sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0
