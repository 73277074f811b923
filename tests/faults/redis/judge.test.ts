/** The judge is judged: what it must notice, each by itself, and what it must let pass. */

import { brokenIn, COUNTS, judged, lease, row, visit } from '../samples.ts'
import type { Call } from './callers.ts'
import { ofRedis, type RedisFacts } from './laws.ts'
import type { Request } from './requests.ts'

const LANE = 'http://a'

const call = (given: Partial<Call> = {}, asked: Partial<Request> = {}): Call => ({
  request: {
    intent: 'one',
    kind: 'new',
    key: 'k',
    body: { intent: asked.intent ?? 'one' },
    host: 'a',
    orderKey: undefined,
    ...asked,
  },
  askedAt: -100,
  endedAt: -50,
  outcome: 'accepted',
  taskId: 't1',
  durability: 'relaxed',
  ...given,
})

const other = { ...row, taskId: 't2' }
const second = call({ taskId: 't2' }, { intent: 'two', key: undefined })
const sentTwo = visit(2, 1_050, { intent: 'two', key: 'k2' })
const dead = { ...row, status: 'EXHAUSTED' }

/** One task, delivered at once. */
const fine: RedisFacts = {
  calls: [call()],
  leases: [lease(1, 0)],
  visits: [visit(1, 50)],
  effects: new Map([['one', 1]]),
  found: new Map([['one', row]]),
  rows: [row],
  counts: COUNTS,
  samples: [{ acknowledged: 1, asked: 1, total: 1 }],
  deadLetters: [],
  redriven: new Map(),
  deaths: [],
  degraded: [],
  drained: true,
  stoodStillMs: 100,
  mayStandStillMs: 1_000,
  limit: 1,
  limitPerLane: 1,
  maxAttempts: 3,
  durabilities: ['relaxed'],
  lags: [],
  full: [],
}

/** Two tasks, one after the other. */
const two: RedisFacts = {
  ...fine,
  calls: [call(), second],
  leases: [lease(1, 0), lease(2, 1_000, { taskId: 't2' })],
  visits: [visit(1, 50), sentTwo],
  effects: new Map([
    ['one', 1],
    ['two', 1],
  ]),
  found: new Map([
    ['one', row],
    ['two', other],
  ]),
  rows: [row, other],
  counts: { ...COUNTS, succeeded: 2 },
}

const FULL = [{ from: 5_000, until: 6_000 }]

const broken = (given: Partial<RedisFacts>, base: Partial<RedisFacts> = fine) =>
  brokenIn(ofRedis({ ...fine, ...base, ...given }))

const cancel = (answer: string, endedAt = 20) =>
  call({ outcome: 'accepted', durability: answer, endedAt }, { intent: 'one?cancel', kind: 'cancel', taskId: 't1' })

judged<Partial<RedisFacts>>(
  broken,
  [
    ['lost', { effects: new Map([['one', 0]]) }],
    ['lost', { found: new Map() }],
    ['lost', { found: new Map([['one', dead]]) }],
    // before the replica stopped hearing, or with its confirmation
    ['lost', { found: new Map(), lags: [{ from: 1_000, until: 2_000 }] }],
    ['lost', { found: new Map(), calls: [call({ durability: 'replicated' })], lags: [{ from: -200, until: 0 }] }],
    ['refused for no reason', { calls: [call({ outcome: 'refused', code: 'TYPE' })] }],
    ['accepted with another promise', { calls: [call({ durability: 'strict' })] }],
    ['kept in memory without a word', { calls: [call({ durability: 'memory' })] }],
    ['H2 sent without a call for it', { visits: [visit(1, 50), visit(2, 500, { intent: 'none' })] }],
    ['H3 accepted beside the rows', { rows: [row, other] }],
    ['H3 counts() while it ran, 1 times', { samples: [{ acknowledged: 2, asked: 2, total: 1 }] }],
    ['H3 counts() while it ran, 1 times', { samples: [{ acknowledged: 1, asked: 1, total: 2 }] }],
    ['counts() beside the rows', { counts: { ...COUNTS, succeeded: 2 } }],
    ['H4 tasks leased to two at once', { leases: [lease(1, 0), lease(2, 400)] }],
    ['H5 tokens given twice', { leases: [lease(1, 0), lease(1, 1_000, { life: '1.2' })] }],
    ['H5 tokens that fall', { leases: [lease(2, 0), lease(1, 1_000)] }],
    ['keys per intent', { visits: [visit(1, 50), visit(2, 600, { key: 'x' })] }],
    ['H7 the same key, and another task', { calls: [call(), call({ taskId: 't9' }, { kind: 'again', taskId: 't1' })] }],
    ['H7 another request under a key taken', { calls: [call(), call({}, { intent: 'one?', kind: 'conflict' })] }],
    ['H8 leases at once', { leases: [lease(1, 0), lease(2, 400, { taskId: 't2', lane: 'http://b' })] }],
    [`H8 leases at once, ${LANE}`, { leases: [lease(1, 0), lease(2, 400, { taskId: 't2' })], limit: 2 }],
    ['requests at once', { visits: [visit(1, 50), visit(1, 100, { intent: 'two' })] }],
    ['H9 attempts beyond the policy', { rows: [{ ...row, attemptNumber: 4 }] }],
    ['H9 attempts beyond the policy', { visits: [1, 2, 3, 4].map((n) => visit(n, n * 1_000)) }],
    ['H9 sent after its cancel was answered', { calls: [call(), cancel('cancelled', -10)] }],
    ['H9 cancelled, and shown otherwise', { calls: [call(), cancel('cancelled')] }],
    [
      'H9 sent after its cancel was answered',
      { calls: [call(), cancel('cancelled', -10)], lags: [{ from: 1_000, until: 2_000 }] },
    ],
    ['H8 leases at once', { leases: [lease(1, 0), lease(2, 400)], lags: [{ from: 1_000, until: 2_000 }] }],
    ['H10 leased before its wait was over', { leases: [lease(1, 0, { waitsUntil: 900 }), lease(2, 800)] }],
    [
      'H11 orders not kept',
      {
        calls: [call({}, { orderKey: 'o' }), { ...second, askedAt: 0, request: { ...second.request, orderKey: 'o' } }],
        leases: [lease(1, 0), lease(2, 1_000, { taskId: 't2' }), lease(3, 1_600)],
      },
      two,
    ],
    ['H12 dead letters and what is shown of them differ', { deadLetters: ['t1'] }],
    ['H12 dead letters and what is shown of them differ', { rows: [dead] }],
    ['H12 put back under another id', { redriven: new Map([['t1', 'key_expired']]) }],
    ['H14 ms in which nothing moved after the last blow', { stoodStillMs: 2_000 }],
    ['left over at the end', { drained: false }],
    ['effects per intent', { effects: new Map([['one', 2]]) }],
    [
      'S17 refused for want of room, and sent',
      { calls: [call(), call({ outcome: 'refused', code: 'STORAGE_FULL' }, { intent: 'two', key: undefined })] },
      two,
    ],
    [
      'S17 settled while there was no room',
      { full: [{ from: 400, until: 600 }], leases: [lease(1, 0, { answer: undefined })] },
    ],
    ['S17 gave way to others', { full: FULL, rows: [row], found: new Map([['one', row]]) }, two],
    ['lost', { full: FULL, rows: [row], found: new Map([['one', row]]), effects: new Map([['one', 1]]) }, two],
    ['tasks sent again before the attempt was over', { visits: [visit(1, 50), visit(1, 100)] }],
    [
      'tasks sent again before the attempt was over',
      { visits: [visit(1, 50, { by: '0.1 1 40' }), visit(1, 100, { by: '0.1 1 90' })] },
    ],
    [
      'tasks sent again before the attempt was over',
      { visits: [visit(1, 50), visit(1, 100)], lags: [{ from: 1_000, until: 1_300 }] },
    ],
    ['Retry-After undercut', { visits: [visit(1, 50, { retryAfterMs: 1_000 }), visit(1, 1_000)] }],
    ['processes that ended by themselves', { deaths: ['0.1 ended with 1'] }],
  ],
  [
    ['a run in which all is well', {}],
    ['two tasks, one after the other', {}, two],
    [
      'a task that only the old primary had',
      {
        lags: [{ from: -300, until: -200 }],
        calls: [call(), { ...second, askedAt: -300, endedAt: -250 }],
        rows: [row],
        counts: COUNTS,
        found: new Map([['one', row]]),
        effects: new Map([['one', 1]]),
        visits: [visit(1, 50)],
      },
    ],
    [
      'a lease that a new primary did not know of',
      { lags: [{ from: 1_000, until: 1_300 }], leases: [lease(1, 1_050), lease(2, 1_400)] },
    ],
    [
      'a second attempt once the server that had given the first lease was lost',
      {
        lags: [{ from: 1_000, until: 1_300 }],
        leases: [lease(1, 1_050), lease(2, 1_400)],
        visits: [visit(1, 1_100), visit(2, 1_450)],
      },
    ],
    [
      'a pause that only the old primary was told of',
      {
        lags: [{ from: 400, until: 900 }],
        leases: [lease(1, 0), lease(2, 1_000)],
        visits: [visit(1, 50, { retryAfterMs: 5_000 }), visit(2, 1_050)],
      },
    ],
    [
      'a cancel that the old primary made, and whose answer came when it was gone',
      {
        lags: [{ from: 1_000, until: 1_300 }],
        calls: [call(), second, { ...cancel('cancelled', 1_500), askedAt: 1_200 }],
        leases: [lease(1, 0, { taskId: 't2' }), lease(2, 1_600)],
        visits: [visit(1, 50, { intent: 'two', key: 'k2' }), visit(2, 1_650)],
      },
      two,
    ],
    [
      'a task whose cancel was asked for, and which succeeded all the same',
      { calls: [call(), second, cancel('requested', 100)] },
      two,
    ],
    [
      'a task that has succeeded and gave way in a server without memory',
      { full: FULL, rows: [row], found: new Map([['one', row]]), counts: { ...COUNTS, purged: 1 } },
      two,
    ],
    [
      'a refusal for want of room',
      { calls: [call(), call({ outcome: 'refused', code: 'STORAGE_FULL' }, { intent: 'two', key: undefined })] },
    ],
    [
      'a second attempt once the lease of the first has run out',
      {
        leases: [lease(1, 0, { settlingAt: Infinity }), lease(2, 1_000)],
        visits: [visit(1, 50, { endedAt: 3_000 }), visit(2, 1_100)],
      },
    ],
    [
      'a request that its process had let go of under its lease, and was frozen before it went out',
      {
        leases: [lease(1, 0, { settlingAt: Infinity }), lease(2, 1_000)],
        visits: [visit(2, 1_100), visit(1, 1_200, { by: '0.1 1 60' })],
      },
    ],
  ],
)
