/**
 * Judges a run of browsers by what the server saw, what the store holds, and what callers got. An attempt counts as over at the
 * moment in which its document was killed, left or frozen, whatever the server still has open of it: from then on another may be
 * made.
 */

import type { Visit } from '../../servers/start.mjs'
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
} from '../checks.ts'
import { awayFrom, isFirst, type Life, lifeOf } from './lives.ts'

export interface StoredRow extends Row {
  readonly intent: string
  readonly reason?: string
}

export interface Evidence {
  /** Intent -> task, as acknowledged. */
  readonly acknowledged: ReadonlyMap<string, string>
  /** Intents that were accepted in memory only, since the store could not be opened. */
  readonly soft: readonly string[]
  /** What the pages said works less well than it should. */
  readonly degraded: readonly string[]
  readonly refusals: readonly string[]
  /** What is in the store. */
  readonly rows: readonly StoredRow[]
  /** Those that the queue shows as its dead letters. */
  readonly deadLetters: readonly string[]
  readonly counts: Counts
  /** In the order in which they came. */
  readonly visits: readonly Visit[]
  readonly effects: ReadonlyMap<string, number>
  readonly lives: ReadonlyMap<string, Life>
  /** Browsers and tabs that ended by themselves. */
  readonly deaths: readonly string[]
  /** Errors in the pages that nobody caught. */
  readonly uncaught: readonly string[]
  /** Callers that got what they should not. */
  readonly wrong: readonly string[]
  /** Callers that still wait. */
  readonly waiting: readonly string[]
  readonly drained: boolean
  readonly limit: number
}

export function judge(evidence: Evidence): readonly Check[] {
  const { acknowledged, rows, visits, effects, counts, lives } = evidence
  const found = new Map(rows.map((row) => [row.intent, row]))
  const shown = new Set(evidence.deadLetters)
  const isDead = ({ status, taskId }: StoredRow) => status === 'EXHAUSTED' && shown.has(taskId)
  const intents = [...acknowledged.keys()]
  const delivered = intents.filter((intent) => found.get(intent)?.status !== 'EXHAUSTED')
  const keys = keysOf(visits)
  const sent = intents.filter((intent) => keys.has(intent) || delivered.includes(intent))
  const everyone = [...new Set([...intents, ...keys.keys()])]
  const wasSaid = evidence.degraded.some((message) => message.startsWith('storage_unavailable'))
  // those in memory are held to a limit of their own
  const stored = visits.filter((visit) => !isFirst(visit) && !evidence.soft.includes(visit.intent))
  const atOnce = mostAtOnce(stored.map((visit) => [visit.startedAt + GRAIN_MS, overAt(visit, lives) - GRAIN_MS]))

  return [
    none('refused', evidence.refusals),
    none('kept in memory without a word', wasSaid ? [] : evidence.soft),
    none(
      'lost',
      intents.filter((intent) => {
        const row = found.get(intent)
        return !row || !(isDead(row) || (row.status === 'SUCCEEDED' && effects.get(intent)))
      }),
      (intent) => {
        const { status = 'not there', reason = '' } = found.get(intent) ?? {}
        return `${intent} is ${status} ${reason}, ${effects.get(intent) ?? 0} effects`
      },
    ),
    none(
      'found under another id',
      intents.filter((intent) => found.has(intent) && found.get(intent)?.taskId !== acknowledged.get(intent)),
    ),
    none('tasks of one intent, beyond the first', twice(rows)),
    one('effects per intent', delivered, everyone, (intent) => effects.get(intent) ?? 0),
    one('keys per intent', sent, everyone, (intent) => keys.get(intent)?.size ?? 0),
    atMost('requests of the queue at once', atOnce, evidence.limit),
    none('tasks sent again before the attempt was over', sentTwice(evidence)),
    none('tasks sent by who had not opened a page', strangers(evidence)),
    none('Retry-After undercut', undercut(evidence)),
    none('callers that got what was not theirs', evidence.wrong),
    none('callers left waiting', evidence.waiting),
    countsAgree(counts, rows),
    none('browsers and tabs that ended by themselves', evidence.deaths),
    none('errors that nobody caught', evidence.uncaught),
    leftOver(counts, evidence.drained),
  ]
}

/** When an attempt was over, as far as its document could do anything about it. */
const overAt = (visit: Visit, lives: Evidence['lives']): number =>
  Math.min(visit.endedAt ?? FOREVER, awayFrom(lives.get(lifeOf(visit)), visit.startedAt))

function twice(rows: readonly StoredRow[]): string[] {
  return pairs(rows, ({ intent }) => intent).map(([one, other]) => `${one.intent}: ${one.taskId} and ${other.taskId}`)
}

function sentTwice({ visits, lives }: Evidence): string[] {
  return pairs(visits, ({ intent }) => intent)
    .filter(([before, after]) => after.startedAt + GRAIN_MS < overAt(before, lives))
    .map(([before, after]) => {
      const early = Math.round(overAt(before, lives) - after.startedAt)
      return `${after.intent}: ${after.by} came ${early} ms before ${before.by} was over`
    })
}

function strangers({ visits, lives }: Evidence): string[] {
  return visits.filter((visit) => !lives.has(lifeOf(visit))).map(({ intent, by }) => `${intent}: ${by}`)
}

/** Only where the document stayed: one that goes with the answer in its hands tells nobody. */
function undercut({ visits, lives }: Evidence): string[] {
  return pairs(visits, ({ intent }) => intent)
    .filter(([before, after]) => {
      const until = (before.endedAt ?? FOREVER) + (before.retryAfterMs ?? 0)
      if (before.retryAfterMs === null || after.startedAt >= until - TICK_MS) return false
      return awayFrom(lives.get(lifeOf(before)), before.startedAt) > after.startedAt
    })
    .map(([before, after]) => `${after.intent}: ${after.by} came before the pause that ${before.by} was told`)
}
