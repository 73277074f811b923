/** What processes on one file leave behind: an attempt counts as over when its lease was, whatever the server still has open of it. */

import type { Visit } from '../servers/start.mjs'
import { atMost, between, FOREVER, mostAtOnce, none, pairs } from './checks.ts'
import type { Held } from './evidence.ts'
import { type Evidence, withoutAWord } from './judge.ts'
import type { LeaseSpan } from './log.ts'

export interface ProcessFacts extends Held {
  /** Intent -> task, as acknowledged. */
  readonly acknowledged: ReadonlyMap<string, string>
  /** Intents that were accepted in memory only, since the store could not be opened. */
  readonly soft: readonly string[]
  /** What the processes said works less well than it should. */
  readonly degraded: readonly string[]
  readonly refusals: readonly string[]
  /** Intents of which it is not known whether they were taken. */
  readonly unknown: readonly string[]
  readonly visits: readonly Visit[]
  readonly effects: ReadonlyMap<string, number>
  readonly leases: ReadonlyMap<number, LeaseSpan>
  /** Processes that ended by themselves. */
  readonly deaths: readonly string[]
  readonly drained: boolean
  readonly limit: number
}

export function ofProcesses(facts: ProcessFacts): Evidence {
  const { acknowledged, found, visits, effects, leases, counts, rows, soft, drained, limit } = facts
  const leasesAtOnce = mostAtOnce([...leases.values()].map((lease) => [lease.from, endOf(lease)]))
  return {
    acknowledged,
    found,
    visits,
    effects,
    drained,
    store: { counts, rows },
    left: counts.pending + counts.inFlight,
    attempts: {
      // one without a lease counts whole
      overAt(visit) {
        const { until = FOREVER, endedAt = FOREVER } = leaseOf(visit, leases) ?? {}
        return Math.min(visit.endedAt ?? FOREVER, until, endedAt)
      },
      sentAt,
      hasTold: (visit) => leaseOf(visit, leases)?.answer === 'applied',
      limit: { most: limit, counts: ({ intent }) => !soft.includes(intent) },
    },
    never: {
      refused: facts.refusals,
      'kept in memory without a word': withoutAWord(soft, facts.degraded),
      'processes that ended by themselves': facts.deaths,
    },
    own: [
      atMost('leases at once', leasesAtOnce, limit),
      none('tasks leased to two at once', overlaps([...leases.values()].sort((a, b) => a.token - b.token))),
      between('accepted beside the rows', [acknowledged.size, acknowledged.size + facts.unknown.length], rows.length),
    ],
  }
}

/** The lease a request went out under: its process says so with it. */
export function leaseOf({ by }: Visit, leases: ProcessFacts['leases']): LeaseSpan | undefined {
  return by === null ? undefined : leases.get(Number(by.split(' ')[1]))
}

/** When its process handed the request to `fetch`, which is the third word of `X-Attempt`. */
export function sentAt({ by, startedAt }: Visit): number {
  const told = by?.split(' ')[2]
  return told === undefined ? startedAt : Math.min(Number(told), startedAt)
}

/** When a lease was over, at the earliest. */
export const endOf = ({ until, settlingAt, endedAt }: LeaseSpan): number => Math.min(until, settlingAt, endedAt)

/** Leases of one task, in their order, of which one begins before the one before it is over. */
export const overlaps = (
  leases: readonly LeaseSpan[],
  counts: (before: LeaseSpan, after: LeaseSpan) => boolean = () => true,
): string[] =>
  pairs(leases, ({ taskId }) => taskId)
    .filter(([before, after]) => after.from < endOf(before) && counts(before, after))
    .map(([before, after]) => {
      const early = Math.round(endOf(before) - after.from)
      return `${after.taskId}: token ${before.token} of ${before.life} had ${early} ms left when ${after.life} got ${after.token}`
    })
