/**
 * What the documents of a browser leave behind. An attempt counts as over at the moment in which its document was killed, left or
 * frozen, whatever the server still has open of it: from then on another may be made.
 */

import type { Visit } from '../../servers/start.mjs'
import { atMost, type Counts, FOREVER, none, pairs, type Row } from '../checks.ts'
import { type Evidence, withoutAWord } from '../judge.ts'
import { awayFrom, isFirst, type Life, lifeOf } from './lives.ts'

export interface StoredRow extends Row {
  readonly intent: string
}

export interface BrowserFacts {
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
  /** Errors in the pages that were not caught. */
  readonly uncaught: readonly string[]
  /** Callers that got what they should not. */
  readonly wrong: readonly string[]
  /** Intent -> the document that was given an answer whose body never came. */
  readonly bodiless: ReadonlyMap<string, string>
  /** Intent -> when its caller was told that the circuit is open: now and then chance makes a row of failures that looks like an outage. */
  readonly turnedAway: ReadonlyMap<string, number>
  readonly calls: number
  /** Callers that still wait. */
  readonly waiting: readonly string[]
  readonly drained: boolean
  readonly limit: number
}

/** A server that fails three times in ten seldom looks like an outage. When it does, all open calls of a tab may end. */
const mostTurnedAway = (calls: number): number => Math.max(10, Math.floor(calls / 20))

/** A busy page may take so long to read an answer that its server has sent. */
const READ_MS = 5_000

/** Whether a document was away, frozen for example, at some moment between a request and the end of its answer. */
const frozenUnder = ({ startedAt, endedAt }: Visit, life: Life | undefined): boolean =>
  awayFrom(life, startedAt) < (endedAt ?? FOREVER) + READ_MS

export function ofBrowsers(facts: BrowserFacts): Evidence {
  const { acknowledged, deadLetters, visits, effects, lives, counts, rows, soft, turnedAway, drained, limit } = facts
  return {
    acknowledged,
    deadLetters,
    visits,
    effects,
    drained,
    found: new Map(rows.map((row) => [row.intent, row])),
    store: { counts, rows },
    left: counts.pending + counts.inFlight,
    attempts: {
      overAt: (visit) => Math.min(visit.endedAt ?? FOREVER, awayFrom(lives.get(lifeOf(visit)), visit.startedAt)),
      hasTold: (visit, next) => awayFrom(lives.get(lifeOf(visit)), visit.startedAt) > next.startedAt,
      // those in memory are held to a limit of their own
      limit: { most: limit, counts: (visit) => !isFirst(visit) && !soft.includes(visit.intent) },
    },
    never: {
      refused: facts.refusals,
      'kept in memory without a word': withoutAWord(soft, facts.degraded),
      'tasks of one intent, beyond the first': pairs(rows, ({ intent }) => intent).map(
        ([one, other]) => `${one.intent}: ${one.taskId} and ${other.taskId}`,
      ),
      'callers that got what was not theirs': facts.wrong,
      'answers without a body, their page not frozen': [...facts.bodiless]
        .filter(
          ([intent, life]) => !visits.some((visit) => visit.intent === intent && frozenUnder(visit, lives.get(life))),
        )
        .map(([intent, life]) => `${intent}, in ${life}`),
      'callers left waiting': facts.waiting,
      'sent after its caller was told': visits
        .filter(({ intent, startedAt }) => startedAt > (turnedAway.get(intent) ?? FOREVER))
        .map(({ intent, by }) => `${intent}: ${by}`),
      'not ended, its caller told': rows
        .filter(({ intent, status }) => turnedAway.has(intent) && status !== 'EXHAUSTED')
        .map(({ intent, status }) => `${intent} is ${status}`),
      'browsers and tabs that ended by themselves': facts.deaths,
      'errors that nobody caught': facts.uncaught,
    },
    own: [
      atMost('callers told of an open circuit', turnedAway.size, mostTurnedAway(facts.calls)),
      none(
        'tasks sent by who had not opened a page',
        visits.filter((visit) => !lives.has(lifeOf(visit))).map(({ intent, by }) => `${intent}: ${by}`),
      ),
    ],
  }
}
