/** The judge is judged: what it must notice, each by itself, and what it must let pass. */

import { brokenIn, COUNTS, judged, row, visit } from '../samples.ts'
import { type BrowserFacts, ofBrowsers } from './documents.ts'
import { comeBack, goAway, type Life } from './lives.ts'

const LIMIT = 1

/** `away`: from when to when. */
function lives(given: Readonly<Record<string, readonly (readonly [from: number, until: number])[]>>) {
  return new Map(
    Object.entries(given).map(([name, away]) => {
      const life: Life = { name, place: 0, away: [], fate: undefined }
      for (const [from, until] of away) {
        goAway(life, from)
        comeBack(life, until)
      }
      return [name, life]
    }),
  )
}

const GONE = Number.POSITIVE_INFINITY
const dead = { ...row, status: 'EXHAUSTED', reason: 'outcome_unknown' }

/** One task, delivered at once. */
const fine: BrowserFacts = {
  acknowledged: new Map([['one', 't1']]),
  soft: [],
  degraded: [],
  refusals: [],
  rows: [row],
  deadLetters: [],
  counts: COUNTS,
  visits: [visit('a t1 1', 50)],
  effects: new Map([['one', 1]]),
  lives: lives({ a: [], b: [] }),
  deaths: [],
  uncaught: [],
  wrong: [],
  bodiless: new Map(),
  turnedAway: new Map(),
  calls: 20,
  waiting: [],
  drained: true,
  limit: LIMIT,
}
const exhausted = { ...COUNTS, succeeded: 0, exhausted: 1 }

const broken = (given: Partial<BrowserFacts>) => brokenIn(ofBrowsers({ ...fine, ...given }))

const again = 'tasks sent again before the attempt was over'
const two = visit('a first', 60, { intent: 'two' })

judged<Partial<BrowserFacts>>(
  broken,
  [
    ['refused', { refusals: ['one: full'] }],
    ['kept in memory without a word', { soft: ['two'] }],
    ['lost', { effects: new Map([['one', 0]]) }],
    ['lost', { rows: [] }],
    ['lost', { rows: [{ ...row, status: 'PENDING' }] }],
    ['lost', { rows: [dead], counts: exhausted }],
    ['found under another id', { rows: [{ ...row, taskId: 't2' }] }],
    ['tasks of one intent, beyond the first', { rows: [row, { ...row, taskId: 't2' }] }],
    ['effects per intent', { effects: new Map([['one', 2]]) }],
    ['effects per intent', { rows: [dead], deadLetters: ['t1'], counts: exhausted, effects: new Map([['one', 2]]) }],
    ['keys per intent', { visits: [visit('a t1 1', 50), visit('a t1 2', 600, { key: 'other' })] }],
    ['keys per intent', { visits: [visit('a t1 1', 50, { key: null }), visit('a t1 2', 600)] }],
    ['requests at once', { visits: [visit('a t1 1', 50), visit('b t2 1', 100, { intent: 'two' })] }],
    [again, { visits: [visit('a t1 1', 50), visit('b t1 2', 100)] }],
    [again, { visits: [visit('a t1 1', 50), visit('b t1 2', 100)], lives: lives({ a: [[300, GONE]], b: [] }) }],
    [again, { visits: [visit('a t1 1', 50), visit('b t1 2', 100)], lives: lives({ a: [[10, 40]], b: [] }) }],
    ['tasks sent by who had not opened a page', { visits: [visit('c t1 1', 50)] }],
    ['Retry-After undercut', { visits: [visit('a t1 1', 50, { retryAfterMs: 1_000 }), visit('b t1 2', 1_000)] }],
    ['callers that got what was not theirs', { wrong: ['two was given the answer to one'] }],
    ['answers without a body, their page not frozen', { bodiless: new Map([['one', 'a']]) }],
    [
      'answers without a body, their page not frozen',
      { bodiless: new Map([['one', 'a']]), lives: lives({ a: [[10, 40]], b: [] }) },
    ],
    ['callers left waiting', { waiting: ['two'] }],
    ['sent after its caller was told', { turnedAway: new Map([['one', 40]]) }],
    ['not ended, its caller told', { turnedAway: new Map([['one', 60]]) }],
    ['callers told of an open circuit', { turnedAway: new Map(Array.from('abcdefghijk', (intent) => [intent, 1])) }],
    ['counts() beside the rows', { counts: { ...COUNTS, succeeded: 2 } }],
    ['browsers and tabs that ended by themselves', { deaths: ['the browser ended by itself'] }],
    ['errors that nobody caught', { uncaught: ['a: TypeError'] }],
    ['left over at the end', { drained: false }],
  ],
  [
    ['a run in which all is well', {}],
    [
      'a second attempt and another task, once the tab was killed under the first',
      {
        visits: [visit('a t1 1', 50, { endedAt: 500 }), visit('b t1 2', 130), visit('b t2 1', 600, { intent: 'two' })],
        lives: lives({ a: [[80, GONE]], b: [] }),
      },
    ],
    [
      'a request that was on its way when its tab was frozen',
      {
        visits: [visit('a t1 1', 50, { endedAt: 5_000 }), visit('b t1 2', 130)],
        lives: lives({ a: [[45, 2_000]], b: [] }),
      },
    ],
    [
      'an answer whose body did not come, in a page that was frozen',
      { bodiless: new Map([['one', 'a']]), lives: lives({ a: [[60, 2_000]], b: [] }) },
    ],
    [
      'callers’ own first attempts, however many',
      { visits: [visit('a t1 1', 50), two, visit('a first', 70, { intent: 'three' })] },
    ],
    [
      'a pause that is not kept, where the tab went with the answer in its hands',
      {
        visits: [visit('a t1 1', 50, { retryAfterMs: 60_000 }), visit('b t1 2', 1_100)],
        lives: lives({ a: [[451, GONE]], b: [] }),
      },
    ],
    [
      'a task that was given up, where the queue shows it',
      {
        acknowledged: new Map([...fine.acknowledged, ['two', 't2']]),
        rows: [row, { ...dead, intent: 'two', taskId: 't2' }],
        counts: { ...COUNTS, exhausted: 1 },
        deadLetters: ['t2'],
      },
    ],
    [
      'a call whose caller was told that the circuit is open, the work not done',
      { visits: [visit('a t1 1', 50), two], turnedAway: new Map([['two', 70]]) },
    ],
    [
      'a call whose caller was told that the circuit is open, the work done',
      {
        visits: [visit('a t1 1', 50), two],
        turnedAway: new Map([['two', 70]]),
        effects: new Map([...fine.effects, ['two', 1]]),
      },
    ],
    [
      'a task that was kept in memory, and that was said',
      { soft: ['two'], degraded: ['storage_unavailable: the browser does not answer'] },
    ],
  ],
)
