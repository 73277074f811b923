/**
 * Judges a run by what the server saw, what the file holds, and the leases that the processes wrote down; not by what a queue
 * says about itself.
 */

import type { Visit } from '../servers/start.mjs'
import type { LeaseSpan } from './log.ts'

/** What the file holds of a task at the end. */
export interface Row {
  readonly taskId: string
  readonly status: string
  readonly attemptNumber: number
}

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
  readonly counts: Readonly<Record<'pending' | 'inFlight' | 'succeeded' | 'exhausted' | 'cancelled' | 'purged', number>>
  readonly visits: readonly Visit[]
  readonly effects: ReadonlyMap<string, number>
  readonly leases: ReadonlyMap<number, LeaseSpan>
  /** Processes that ended by themselves. */
  readonly deaths: readonly string[]
  readonly drained: boolean
  readonly limit: number
}

export interface Check {
  readonly label: string
  readonly found: string
  readonly wanted: string
  readonly ok: boolean
  /** A few that are not as they must be. */
  readonly offenders: readonly string[]
}

/** Two processes read one clock, each a little late. */
const GRAIN_MS = 20
/** The server counts parts of a millisecond, a queue whole ones. */
const TICK_MS = 2
const FOREVER = Number.POSITIVE_INFINITY

export function judge(evidence: Evidence): readonly Check[] {
  const { acknowledged, found, counts, rows, visits, effects, limit } = evidence
  const intents = [...acknowledged.keys()]
  const keys = keysOf(visits)
  const everyone = [...new Set([...intents, ...keys.keys()])]
  const tally = (status: string) => rows.filter((row) => row.status === status).length
  const { pending, inFlight, succeeded, exhausted, cancelled, purged } = counts
  const wrongCounts = [
    ['pending', pending, tally('PENDING')],
    ['in flight', inFlight, tally('IN_FLIGHT')],
    ['succeeded', succeeded, tally('SUCCEEDED')],
    ['exhausted', exhausted, tally('EXHAUSTED')],
    ['cancelled', cancelled, tally('CANCELLED')],
    ['purged', purged, 0],
  ].filter(([, said, counted]) => said !== counted)
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
    {
      label: 'counts() beside the rows',
      found: wrongCounts.length === 0 ? 'agree' : `${wrongCounts.length} differ`,
      wanted: 'agree',
      ok: wrongCounts.length === 0,
      offenders: wrongCounts.map(([name, said, counted]) => `${name}: ${said} said, ${counted} there`),
    },
    {
      label: 'accepted beside the rows',
      found: `${intents.length} to ${intents.length + evidence.unknown.length}, ${rows.length}`,
      wanted: 'within',
      ok: rows.length >= intents.length && rows.length <= intents.length + evidence.unknown.length,
      offenders: [],
    },
    none('processes that ended by themselves', evidence.deaths),
    {
      label: 'left over at the end',
      found: String(pending + inFlight),
      wanted: '0',
      ok: evidence.drained && pending + inFlight === 0,
      offenders: [],
    },
  ]
}

const none = (label: string, offenders: readonly string[], say = (offender: string) => offender): Check => ({
  label,
  found: String(offenders.length),
  wanted: '0',
  ok: offenders.length === 0,
  offenders: offenders.map(say),
})

const atMost = (label: string, found: number, limit: number): Check => ({
  label,
  found: String(found),
  wanted: `at most ${limit}`,
  ok: found <= limit,
  offenders: [],
})

/** Exactly one for what was acknowledged, and never more than one. */
function one(label: string, intents: readonly string[], all: readonly string[], of: (intent: string) => number): Check {
  const sure = new Set(intents)
  const numbers = intents.map(of)
  const [least, most] = [Math.min(...numbers), Math.max(...all.map(of))]
  const offenders = all.filter((intent) => of(intent) > 1 || (sure.has(intent) && of(intent) !== 1))
  return {
    label,
    found: least === most ? String(most) : `${least} to ${most}`,
    wanted: '1',
    ok: offenders.length === 0 && intents.length > 0,
    offenders: offenders.map((intent) => `${intent}: ${of(intent)}`),
  }
}

function keysOf(visits: readonly Visit[]): Map<string, Set<string>> {
  const keys = new Map<string, Set<string>>()
  for (const { intent, key } of visits) {
    const own = keys.get(intent) ?? new Set()
    keys.set(intent, own.add(key ?? ''))
  }
  return keys
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

/** The most that were open at one moment; at equal times an end comes before a start. */
function mostAtOnce(spans: readonly (readonly [from: number, until: number])[]): number {
  const steps = spans
    .filter(([from, until]) => until > from)
    .flatMap(([from, until]) => [
      { at: from, by: 1 },
      { at: until, by: -1 },
    ])
  steps.sort((a, b) => a.at - b.at || a.by - b.by)
  let open = 0
  let most = 0
  for (const { by } of steps) {
    open += by
    most = Math.max(most, open)
  }
  return most
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

/** Each with the one before it in its group. */
function pairs<T>(list: readonly T[], group: (item: T) => string): [T, T][] {
  const last = new Map<string, T>()
  return list.flatMap((item) => {
    const before = last.get(group(item))
    last.set(group(item), item)
    return before === undefined ? [] : [[before, item] as [T, T]]
  })
}
