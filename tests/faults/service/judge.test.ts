/** The judge is judged: what it must notice, each by itself, and what it must let pass. */

import { describe, expect, test } from 'vitest'
import type { Visit } from '../../servers/start.mjs'
import { brokenIn, COUNTS as counts, judged } from '../samples.ts'
import type { Call } from './clients.ts'
import type { Said, ServiceFacts, TaskRow } from './facts.ts'
import type { Death, Struck } from './fleet.ts'
import type { Intent } from './intents.ts'
import { ofService } from './laws.ts'
import { exitLaws } from './laws-callers.ts'

const intent = (name: string, given: Partial<Intent> = {}): Intent => ({
  name,
  tenant: null,
  key: `key-${name}`,
  origin: 0,
  orderKey: undefined,
  kind: 'plain',
  delayMs: 0,
  policy: { maxAttempts: 3 },
  ...given,
})

const call = (given: Partial<Call> = {}): Call => ({
  kind: 'post',
  intent: 'one',
  life: '0.1',
  askedAt: 0,
  endedAt: 10,
  outcome: 'answered',
  status: 201,
  taskId: 't1',
  durability: 'strict',
  ...given,
})

const visit = (startedAt: number, given: Partial<Visit> = {}): Visit => ({
  intent: 'one',
  attempt: 1,
  via: null,
  by: '0.1',
  method: 'POST',
  key: `key-${given.intent ?? 'one'}`,
  outcome: 'done',
  status: 200,
  startedAt,
  endedAt: startedAt + 400,
  retryAfterMs: null,
  ...given,
})

const row = (taskId: string, given: Partial<TaskRow> = {}): TaskRow => ({
  taskId,
  status: 'SUCCEEDED',
  attemptNumber: 1,
  tenant: null,
  idempotencyKey: null,
  ...given,
})

const struck = (kind: Struck['kind'], from: number, until: number, life = '0.1'): Struck => ({
  kind,
  life,
  from,
  until,
})

/** The end of a visit at `at`, as the API tells it. */
const told = (kind: string, at: number, data: Said['data'] = {}): Said => ({ at, kind, data })
const sent = (attemptNumber: number, at = 50): Said => told('attempt', at, { attemptNumber })
const failed = (at: number, delayMs: number, data: Said['data'] = { responseStatus: 503 }): Said =>
  told('retry', at, { attemptNumber: 1, durationMs: 400, delayMs, counted: true, ...data })

const death = (given: Partial<Death> = {}): Death => ({
  ...{ life: '0.1', startedAt: 100, at: 200, wasReady: true, words: 'ended with 1' },
  ...given,
})

/** One task, delivered at once. */
const fine: ServiceFacts = {
  intents: [intent('one')],
  calls: [call()],
  visits: [visit(50)],
  effects: new Map([['one', 1]]),
  targets: ['http://a', 'http://b'],
  callbacks: [],
  quiet: [],
  found: new Map([['one', row('t1')]]),
  rows: [row('t1')],
  stories: new Map([['t1', [sent(1)]]]),
  deadLetters: [],
  counts,
  samples: [{ acknowledged: 1, asked: 1, ends: 0, total: 1 }],
  pauses: [],
  redriven: new Map(),
  failedOperations: [],
  struck: [],
  exits: [{ life: '0.1', code: 0, signal: null, tookMs: 100 }],
  deaths: [],
  drained: true,
  stoodStillMs: 100,
  mayStandStillMs: 1_000,
  limit: 2,
  limitPerOrigin: 1,
  exitMs: 1_000,
}

/** Two tasks, one after the other. */
const two: Partial<ServiceFacts> = {
  intents: [intent('one', { orderKey: 'o' }), intent('two', { orderKey: 'o' })],
  calls: [call(), call({ intent: 'two', taskId: 't2', askedAt: 20, endedAt: 30 })],
  visits: [visit(50), visit(500, { intent: 'two' })],
  effects: new Map([
    ['one', 1],
    ['two', 1],
  ]),
  found: new Map([
    ['one', row('t1')],
    ['two', row('t2')],
  ]),
  rows: [row('t1'), row('t2')],
  counts: { ...counts, succeeded: 2 },
  samples: [],
}

const dead = row('t1', { status: 'EXHAUSTED' })
/** A dead letter that is shown as one. */
const givenUp: Partial<ServiceFacts> = {
  rows: [dead],
  found: new Map([['one', dead]]),
  deadLetters: ['t1'],
  counts: { ...counts, succeeded: 0, exhausted: 1 },
}
const cancelled = row('t1', { status: 'CANCELLED' })
const cancel = (given: Partial<Call>) => call({ kind: 'cancel', askedAt: 20, endedAt: 30, status: 200, ...given })
/** A task that was cancelled before it was sent. */
const takenBack: Partial<ServiceFacts> = {
  calls: [call(), cancel({ said: 'cancelled' })],
  visits: [],
  effects: new Map(),
  rows: [cancelled],
  found: new Map([['one', cancelled]]),
  counts: { ...counts, succeeded: 0, cancelled: 1 },
}

/** Adds a second task, which is delivered: a run that delivers nothing shows nothing. */
const beside = (given: Partial<ServiceFacts>): Partial<ServiceFacts> => {
  const { calls = fine.calls, visits = fine.visits, effects = fine.effects, found = fine.found } = given
  return {
    ...given,
    intents: two.intents ?? [],
    calls: [...calls, call({ intent: 'two', taskId: 't2', askedAt: 20, endedAt: 30 })],
    visits: [...visits, visit(9_000, { intent: 'two' })],
    effects: new Map([...effects, ['two', 1]]),
    found: new Map([...found, ['two', row('t2')]]),
    rows: [...(given.rows ?? fine.rows), row('t2')],
    counts: { ...(given.counts ?? counts), succeeded: (given.counts ?? counts).succeeded + 1 },
    samples: [],
  }
}

const broken = (given: Partial<ServiceFacts>) => brokenIn(ofService({ ...fine, ...given }))

const faults: readonly (readonly [label: string, facts: Partial<ServiceFacts>])[] = [
  ['lost', { effects: new Map([['one', 0]]) }],
  ['lost', { found: new Map() }],
  ['lost', { ...givenUp, deadLetters: [] }],
  ['found under another id', { found: new Map([['one', row('t2')]]) }],
  ['H1 acknowledged, and not found when asked for', { calls: [call(), call({ kind: 'get', status: 404 })] }],
  ['H1 acknowledged, and not found when asked for', { calls: [call(), cancel({ status: 404 })] }],
  ['accepted with another promise', { calls: [call({ durability: 'memory' })] }],
  ['answered for no reason', { calls: [call(), call({ status: 500 })] }],
  ['answered for no reason', { calls: [call(), call({ kind: 'again', status: 201 })] }],
  ['H2 sent without a call for it', { visits: [visit(50), visit(900, { intent: 'one?conflict' })] }],
  ['H2 sent without a call for it', { visits: [visit(50), visit(900, { intent: 'two' })], intents: two.intents ?? [] }],
  ['H3 accepted beside the rows', { rows: [row('t1'), row('t2')] }],
  ['counts() beside the rows', { counts: { ...counts, succeeded: 2 } }],
  ['H3 /stats while it ran, 1 times', { samples: [{ acknowledged: 2, asked: 2, ends: 0, total: 1 }] }],
  ['H3 /stats while it ran, 1 times', { samples: [{ acknowledged: 1, asked: 1, ends: 0, total: 2 }] }],
  ['tasks sent again before the attempt was over', { visits: [visit(50), visit(100)] }],
  ['tasks sent again before the attempt was over', { visits: [visit(50), visit(100, { by: '1.2' })] }],
  [
    // another process was stopped, and that one before
    'tasks sent again before the attempt was over',
    { visits: [visit(5_000), visit(5_100)], struck: [struck('stop', 4_900, 9_900, '1.2'), struck('stop', 100, 200)] },
  ],
  ['H5 attempts that do not count up', { stories: new Map([['t1', [sent(1), sent(3)]]]) }],
  ['H5 attempts that do not count up', { stories: new Map([['t1', [sent(1), sent(1)]]]) }],
  ['keys per intent', { visits: [visit(50), visit(600, { key: 'other' })] }],
  ['H6 another key than its client gave', { visits: [visit(50, { key: 'other' })] }],
  ['effects per intent', { effects: new Map([['one', 2]]) }],
  ['H7 the same key, and another task', { calls: [call(), call({ kind: 'again', status: 200, taskId: 't2' })] }],
  ['H7 made twice', { calls: [call(), call()] }],
  ['H7 one task for two tenants', { calls: [call(), call({ intent: 'two' })], intents: two.intents ?? [] }],
  ['H7 another request under a key taken', { calls: [call(), call({ kind: 'conflict' })] }],
  [
    'H7 another request under a key taken',
    { calls: [call(), call({ kind: 'conflict', status: 422, said: 'idempotency-conflict', taskId: 't2' })] },
  ],
  ['T16 shown to another tenant', { calls: [call(), call({ kind: 'stranger', status: 200 })] }],
  ['requests at once', { ...two, limit: 1, visits: [visit(50), visit(100, { intent: 'two' })] }],
  [
    'H8 requests at once of a tenant to an origin',
    { ...two, visits: [visit(50), visit(100, { intent: 'two', by: '1.2' })] },
  ],
  [
    'H8 requests at once of a process to an origin',
    {
      ...two,
      intents: [intent('one'), intent('two', { tenant: 'acme' })],
      visits: [visit(50), visit(100, { intent: 'two' })],
    },
  ],
  ['H9 attempts beyond the policy', { visits: [50, 500, 1_000, 1_500].map((at) => visit(at)) }],
  ['H9 attempts beyond the policy', { rows: [row('t1', { attemptNumber: 4 })] }],
  ['H9 sent after its cancel was answered', { ...takenBack, visits: [visit(60)] }],
  ['H9 cancelled, and shown otherwise', { calls: [call(), cancel({ said: 'cancelled' })] }],
  ['H9 cancelled, and shown otherwise', { ...givenUp, calls: [call(), cancel({ status: 202, said: 'requested' })] }],
  // one that had ended is not cancelled
  ['lost', { ...takenBack, calls: [call(), cancel({ status: 409 })] }],
  [
    'H9 sent while its origin was paused',
    { visits: [visit(2_000)], pauses: [{ origin: 'http://a', from: 100, until: 3_000 }] },
  ],
  ['H10 sent before its delay', { intents: [intent('one', { delayMs: 100 })] }],
  [
    'H10 sent before the wait that was told',
    { visits: [visit(50, { status: 503 }), visit(500)], stories: new Map([['t1', [failed(450, 100)]]]) },
  ],
  [
    'H10 sent before the wait that was told',
    {
      visits: [visit(50, { status: null, outcome: 'caller_gone' }), visit(500)],
      stories: new Map([['t1', [failed(450, 100, {})]]]),
    },
  ],
  // the line of the attempt just before is not that of the one that was broken off
  [
    'H10 sent before the wait that was told',
    {
      visits: [
        visit(50, { status: null, outcome: 'reset_before', endedAt: 190 }),
        visit(200, { status: null, outcome: 'caller_gone' }),
        visit(610),
      ],
      stories: new Map([['t1', [failed(190, 10, {}), failed(600, 100, {})]]]),
    },
  ],
  [
    'Retry-After undercut',
    {
      visits: [visit(50, { status: 503, retryAfterMs: 1_000 }), visit(1_000)],
      stories: new Map([['t1', [failed(450, 0)]]]),
    },
  ],
  ['H11 orders not kept', { ...two, visits: [visit(50), visit(400, { intent: 'two' })] }],
  ['H12 dead letters and what is shown of them differ', { deadLetters: ['t1'] }],
  ['H12 dead letters and what is shown of them differ', { ...givenUp, deadLetters: [] }],
  ['H12 put back under another id', { calls: [call(), call({ kind: 'redrive', intent: 't2', status: 200 })] }],
  ['operations that did not end', { failedOperations: ['redrive-1 is RUNNING'] }],
  ['H14 ms in which nothing moved after the last blow', { stoodStillMs: 1_001 }],
  ['left over at the end', { drained: false }],
  ['left over at the end', { counts: { ...counts, pending: 1 } }],
  ['processes that ended by themselves', { deaths: [death()] }],
  // Redis had been back for a while; or it was away, and the process had been ready
  [
    'processes that ended by themselves',
    { deaths: [death({ wasReady: false })], struck: [struck('redis', 10, 90, '')] },
  ],
  ['processes that ended by themselves', { deaths: [death()], struck: [struck('redis', 120, 190, '')] }],
  ['told to end, and ended otherwise', { exits: [{ life: '0.1', code: 1, signal: null, tookMs: 100 }] }],
  [
    'told to end, and took too long',
    { struck: [struck('drain', 100, 1_200)], exits: [{ life: '0.1', code: 0, signal: null, tookMs: 1_100 }] },
  ],
  [
    'answers cut by a process that was told to end',
    { calls: [call(), call({ outcome: 'cut', status: undefined as never })], struck: [struck('drain', 5, 500)] },
  ],
]

const passes: readonly (readonly [what: string, facts: Partial<ServiceFacts>])[] = [
  ['a run in which all is well', {}],
  ['two tasks of an order, one after the other', two],
  [
    'requests of two processes for two tenants at once',
    {
      ...two,
      intents: [intent('one'), intent('two', { tenant: 'acme' })],
      visits: [visit(50), visit(100, { intent: 'two', by: '1.2' })],
    },
  ],
  ['a task that was given up, and is shown as a dead letter', beside({ ...givenUp, effects: new Map() })],
  ['a task that was taken back before it was sent', beside(takenBack)],
  [
    'a task whose end was asked for, and which had success',
    beside({ calls: [call(), cancel({ status: 202, said: 'requested' })] }),
  ],
  [
    'a post whose answer was lost, and that was there when it was asked again',
    { calls: [call({ outcome: 'cut', status: undefined as never }), call({ status: 200 })] },
  ],
  [
    'a second attempt once the process of the first was stopped',
    { visits: [visit(50, { endedAt: 6_000 }), visit(3_000, { by: '1.2' })], struck: [struck('stop', 60, 5_060)] },
  ],
  [
    'a second attempt that the store has said to have taken back',
    {
      visits: [visit(50, { endedAt: 6_000 }), visit(3_000, { by: '1.2' })],
      stories: new Map([['t1', [told('lost', 2_900, { attemptNumber: 1 }), sent(2)]]]),
    },
  ],
  [
    'a request that a stopped process had let go of',
    { visits: [visit(3_000, { by: '1.2' }), visit(3_100)], struck: [struck('stop', 60, 3_050)] },
  ],
  [
    'a request after its cancel by a process that was stopped before',
    beside({ ...takenBack, visits: [visit(3_100)], struck: [struck('stop', 20, 3_050)] }),
  ],
  [
    'a wait that no process could tell the store',
    { visits: [visit(50, { status: 503, retryAfterMs: 1_000 }), visit(500)] },
  ],
  [
    'another request in the place of one whose sender had gone, of which the target heard late',
    {
      ...two,
      intents: [intent('one'), intent('two')],
      visits: [
        visit(50, { status: null, outcome: 'caller_gone', endedAt: 700 }),
        visit(480, { intent: 'two' }),
        visit(1_000),
      ],
      stories: new Map([['t1', [failed(450, 100, {})]]]),
    },
  ],
  [
    'a wait after a sender had gone, of which the target heard late',
    {
      visits: [visit(50, { status: null, outcome: 'caller_gone', endedAt: 458 }), visit(550)],
      stories: new Map([['t1', [failed(450, 100, {})]]]),
    },
  ],
  ['a request on its way when its origin was paused', { pauses: [{ origin: 'http://a', from: 10, until: 3_000 }] }],
  [
    'more attempts of one that was put back',
    { visits: [50, 500, 1_000, 1_500].map((at) => visit(at)), redriven: new Map([['t1', 1]]) },
  ],
  [
    'an attempt that was given back and does not count',
    { stories: new Map([['t1', [sent(1), told('released', 60, { attemptNumber: 1, counted: false }), sent(1)]]]) },
  ],
  ['a redrive that began the count anew', { stories: new Map([['t1', [sent(1), told('redriven', 60), sent(1)]]]) }],
  [
    'the success of a process that had lost its lease',
    { stories: new Map([['t1', [told('lost', 40, { attemptNumber: 1 }), sent(1), told('succeeded', 60)]]]) },
  ],
  [
    'an answer cut by a kill',
    { calls: [call(), call({ outcome: 'cut', status: undefined as never })], struck: [struck('kill', 5, 6)] },
  ],
  [
    'a process that did not start while its store was away',
    { deaths: [death({ wasReady: false })], struck: [struck('redis', 120, 190, '')] },
  ],
  [
    'a slow end while the store was away',
    {
      struck: [struck('drain', 100, 1_200), struck('redis', 150, 900, '')],
      exits: [{ life: '0.1', code: 0, signal: null, tookMs: 1_100 }],
    },
  ],
]

judged(broken, faults, passes)

/** A request that crosses the close of its connection is let pass, and no other that is cut. */
const SIGNAL_AT = 10_000

const cutAt = (sinceMs: number, tookMs: number, given: Partial<Call> = {}): readonly string[] | undefined => {
  const askedAt = SIGNAL_AT + sinceMs
  const cut = { outcome: 'cut', status: undefined as never, message: 'ECONNRESET', isKept: true } as const
  const calls = [call({ ...cut, kind: 'again', askedAt, endedAt: askedAt + tookMs, ...given })]
  return exitLaws({ ...fine, calls, struck: [struck('drain', SIGNAL_AT, SIGNAL_AT + 1_500)] })[
    'answers cut by a process that was told to end'
  ]
}

describe('cut by a process that was told to end', () => {
  test.each([
    ['half a second later, as it closes kept connections', 497],
    ['later, since it had no quiet moment', 1_600],
  ])('no fault is a request on a kept connection, %s', (_, sinceMs) => {
    expect(cutAt(sinceMs, 3)).toEqual([])
  })

  test.each<[string, number, number, Partial<Call>]>([
    ['before it closes kept connections', 300, 3, {}],
    ['long after it has closed them', 2_000, 3, {}],
    ['on a new connection', 497, 3, { isKept: false }],
    ['that it had time to read', 497, 200, {}],
  ])('a request %s', (_, sinceMs, tookMs, given) => {
    expect(cutAt(sinceMs, tookMs, given)).toEqual(['again of one at 0.1: ECONNRESET'])
  })
})
