/**
 * Judges a run, whatever was killed in it, by what the server saw, what the store holds, and what was written down by those who
 * did the work; not by what a queue says about itself. Each kind of run brings its evidence in this form, and what only it knows.
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

export interface Evidence {
  /** Intent -> its task, as acknowledged. */
  readonly acknowledged: ReadonlyMap<string, string>
  /** Intents that the server has answered at once, so that there is no task of them. */
  readonly done?: readonly string[]
  /** What the store holds of each acknowledged intent. */
  readonly found: ReadonlyMap<string, Row>
  /** Tasks that the queue shows as its dead letters: given up, and not lost. */
  readonly deadLetters?: readonly string[]
  /** In the order in which they came. */
  readonly visits: readonly Visit[]
  readonly effects: ReadonlyMap<string, number>
  readonly attempts: Attempts
  /** What the store counts, beside its rows. */
  readonly store: { readonly counts: Counts; readonly rows: readonly Row[] } | undefined
  /** Tasks that are not at their end. */
  readonly left: number
  readonly drained: boolean
  /** Offenders, by what must not be: of each law that is broken by being mentioned here. */
  readonly never: Readonly<Record<string, readonly string[]>>
  /** What this kind of run is held to besides. */
  readonly own: readonly Check[]
}

/** What is known of attempts beyond what the server saw of them. */
export interface Attempts {
  /** The moment from which on another attempt may be made: its maker could do nothing about it any more. */
  overAt(visit: Visit): number
  /** When its maker let go of it, where that is known; else it is when the server saw it. One that is frozen between the two cannot take it back. */
  sentAt?(visit: Visit): number
  /** Whether `next` had to know of the pause that this one was told: a maker who dies with the answer tells it to none. */
  hasTold?(visit: Visit, next: Visit): boolean
  /** How many may be open at once, and which of them count. */
  readonly limit?: { readonly most: number; readonly counts: (visit: Visit) => boolean }
}

export function judge(evidence: Evidence): readonly Check[] {
  const { acknowledged, done = [], found, visits, effects, store } = evidence
  const shown = new Set(evidence.deadLetters)
  const isDead = (row: Row | undefined) => row?.status === 'EXHAUSTED' && shown.has(row.taskId)
  const tasks = [...acknowledged.keys()]
  const delivered = [...tasks.filter((intent) => !isDead(found.get(intent))), ...done]
  const keys = keysOf(visits)
  const sent = [...tasks, ...done].filter((intent) => keys.has(intent) || delivered.includes(intent))
  const everyone = [...new Set([...tasks, ...done, ...keys.keys()])]
  const isEnded = (intent: string) => {
    const row = found.get(intent)
    return isDead(row) || (row?.status === 'SUCCEEDED' && (effects.get(intent) ?? 0) > 0)
  }
  return [
    ...Object.entries(evidence.never).map(([label, offenders]) => none(label, offenders)),
    none(
      'lost',
      tasks.filter((intent) => !isEnded(intent)),
      (intent) => {
        const { status = 'not there', reason = '' } = found.get(intent) ?? {}
        return `${intent} is ${status} ${reason}, ${effects.get(intent) ?? 0} effects`
      },
    ),
    none(
      'found under another id',
      tasks.filter((intent) => found.has(intent) && found.get(intent)?.taskId !== acknowledged.get(intent)),
    ),
    one('effects per intent', delivered, everyone, (intent) => effects.get(intent) ?? 0),
    one('keys per intent', sent, everyone, (intent) => keys.get(intent)?.size ?? 0),
    none('tasks sent again before the attempt was over', sentTwice(evidence)),
    ...atOnce(evidence),
    ...undercut(evidence),
    ...(store ? [countsAgree(store.counts, store.rows)] : []),
    ...evidence.own,
    leftOver(evidence.left, evidence.drained),
  ]
}

/** What may be accepted in memory only: nothing, unless it was said that the store cannot be opened. */
export const withoutAWord = (soft: readonly string[], degraded: readonly string[]): readonly string[] =>
  degraded.some((message) => message.startsWith('storage_unavailable')) ? [] : soft

function atOnce({ visits, attempts: { limit, overAt } }: Evidence): readonly Check[] {
  if (!limit) return []
  const open = visits.filter(limit.counts).map((visit) => {
    return [visit.startedAt + GRAIN_MS, overAt(visit) - GRAIN_MS] as const
  })
  return [atMost('requests at once', mostAtOnce(open), limit.most)]
}

function sentTwice({ visits, attempts: { overAt, sentAt = ({ startedAt }) => startedAt } }: Evidence): string[] {
  const sent = [...visits].sort((a, b) => sentAt(a) - sentAt(b))
  return pairs(sent, ({ intent }) => intent)
    .filter(([before, after]) => sentAt(after) + GRAIN_MS < overAt(before))
    .map(([before, after]) => {
      const early = Math.round(overAt(before) - sentAt(after))
      return `${after.intent}: ${after.by} came ${early} ms before ${before.by} was over`
    })
}

function undercut({ visits, attempts: { hasTold } }: Evidence): readonly Check[] {
  if (!hasTold) return []
  const early = pairs(visits, ({ intent }) => intent).filter(([before, after]) => {
    const until = (before.endedAt ?? FOREVER) + (before.retryAfterMs ?? 0)
    return before.retryAfterMs !== null && after.startedAt < until - TICK_MS && hasTold(before, after)
  })
  return [
    none(
      'Retry-After undercut',
      early.map(([before, after]) => `${after.intent}: ${after.by} came before the pause that ${before.by} was told`),
    ),
  ]
}
