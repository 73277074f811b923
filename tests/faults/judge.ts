/**
 * Judges a run by what the server saw, what the file holds, and the leases that the processes wrote down; not by what a queue
 * says about itself.
 */

import type { Visit } from '../servers/start.mjs'
import {
  atMost,
  type Check,
  type Counts,
  countsAgree,
  FOREVER,
  GRAIN_MS,
  keysOf,
  leftOver,
  mostAtOnce,
  none,
  one,
  pairs,
  type Row,
  TICK_MS,
} from './checks.ts'
import type { LeaseSpan } from './log.ts'

export interface Evidence {
  /** Intent -> task, as acknowledged. */
  readonly acknowledged: ReadonlyMap<string, string>
  /** Intents that were accepted in memory only, since the store could not be opened. */
  readonly soft: readonly string[]
  /** What the processes said works less well than it should. */
  readonly degraded: readonly string[]
  readonly refusals: readonly string[]
  /** Intents of which nobody knows whether they were taken. */
  readonly unknown: readonly string[]
  /** What `get` gives for each acknowledged task. */
  readonly found: ReadonlyMap<string, Row>
  /** What `list` gives. */
  readonly rows: readonly Row[]
  readonly counts: Counts
  readonly visits: readonly Visit[]
  readonly effects: ReadonlyMap<string, number>
  readonly leases: ReadonlyMap<number, LeaseSpan>
  /** Processes that ended by themselves. */
  readonly deaths: readonly string[]
  readonly drained: boolean
  readonly limit: number
}

export function judge(evidence: Evidence): readonly Check[] {
  const { acknowledged, found, counts, rows, visits, effects, limit } = evidence
  const intents = [...acknowledged.keys()]
  const keys = keysOf(visits)
  const everyone = [...new Set([...intents, ...keys.keys()])]
  const wasSaid = evidence.degraded.some((message) => message.startsWith('storage_unavailable'))
  const stored = visits.filter(({ intent }) => !evidence.soft.includes(intent))
  const leasesAtOnce = mostAtOnce([...evidence.leases.values()].map((lease) => [lease.from, endOf(lease)]))
  const sentAtOnce = mostAtOnce(stored.map((visit) => [visit.startedAt + GRAIN_MS, heldUntil(visit, evidence)]))

  return [
    none('refused', evidence.refusals),
    none('kept in memory without a word', wasSaid ? [] : evidence.soft),
    none(
      'lost',
      intents.filter((intent) => found.get(intent)?.status !== 'SUCCEEDED' || !effects.get(intent)),
      (intent) => `${intent} is ${found.get(intent)?.status ?? 'not there'}, ${effects.get(intent) ?? 0} effects`,
    ),
    none(
      'found under another id',
      intents.filter((intent) => found.has(intent) && found.get(intent)?.taskId !== acknowledged.get(intent)),
    ),
    one('effects per intent', intents, everyone, (intent) => effects.get(intent) ?? 0),
    one('keys per intent', intents, everyone, (intent) => keys.get(intent)?.size ?? 0),
    atMost('leases at once', leasesAtOnce, limit),
    atMost('requests at once, under a lease', sentAtOnce, limit),
    none('tasks leased to two at once', leasedTwice(evidence)),
    none('tasks sent twice at once, under a lease', sentTwice(evidence)),
    none('Retry-After undercut', undercut(evidence)),
    countsAgree(counts, rows),
    {
      label: 'accepted beside the rows',
      found: `${intents.length} to ${intents.length + evidence.unknown.length}, ${rows.length}`,
      wanted: 'within',
      ok: rows.length >= intents.length && rows.length <= intents.length + evidence.unknown.length,
      offenders: [],
    },
    none('processes that ended by themselves', evidence.deaths),
    leftOver(counts, evidence.drained),
  ]
}

/** When a lease was over, at the earliest. */
const endOf = ({ until, settlingAt, endedAt }: LeaseSpan): number => Math.min(until, settlingAt, endedAt)

/** The lease a request went out under: its process says so with it. */
export function leaseOf({ by }: Visit, leases: Evidence['leases']): LeaseSpan | undefined {
  return by === null ? undefined : leases.get(Number(by.split(' ')[1]))
}

/** How long a request was open, as far as its lease went. One without a lease counts whole. */
function heldUntil(visit: Visit, { leases }: Evidence): number {
  const { until = FOREVER, endedAt = FOREVER } = leaseOf(visit, leases) ?? {}
  return Math.min(visit.endedAt ?? FOREVER, until, endedAt) - GRAIN_MS
}

function leasedTwice({ leases }: Evidence): string[] {
  const spans = [...leases.values()].sort((a, b) => a.token - b.token)
  return pairs(spans, ({ taskId }) => taskId)
    .filter(([before, after]) => after.from < endOf(before))
    .map(([before, after]) => {
      const early = Math.round(endOf(before) - after.from)
      return `${after.taskId}: token ${before.token} of ${before.life} had ${early} ms left when ${after.life} got ${after.token}`
    })
}

function sentTwice({ visits, leases }: Evidence): string[] {
  return pairs(visits, ({ intent }) => intent)
    .filter(([before, after]) => {
      const { until = FOREVER, endedAt = FOREVER } = leaseOf(before, leases) ?? {}
      return after.startedAt + GRAIN_MS < Math.min(before.endedAt ?? FOREVER, until, endedAt)
    })
    .map(([before, after]) => `${after.intent}: ${before.by} was not over when ${after.by} was sent`)
}

/** Only where the store has taken note: a process that dies with the answer in its hands tells nobody. */
function undercut({ visits, leases }: Evidence): string[] {
  return pairs(visits, ({ intent }) => intent)
    .filter(([before, after]) => {
      if (before.retryAfterMs === null || leaseOf(before, leases)?.answer !== 'applied') return false
      return after.startedAt < (before.endedAt ?? FOREVER) + before.retryAfterMs - TICK_MS
    })
    .map(([before, after]) => `${after.intent}: ${after.by} came before the pause that ${before.by} was told`)
}
