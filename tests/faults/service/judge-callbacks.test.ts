/** The judge of callbacks is judged: each fault that it must notice, by itself, and what it must let pass. */

import type { Visit } from '../../servers/start.mjs'
import { COUNTS, judged } from '../samples.ts'
import type { Call } from './clients.ts'
import { Index, type Said, type ServiceFacts, type TaskRow } from './facts.ts'
import type { CallbackWish, Intent } from './intents.ts'
import { callbackChecks, callbackLaws } from './laws-callbacks.ts'
import type { CallbackVisit } from './receiver.ts'

const ORIGIN = 'http://a'

const intent = (callback: Partial<CallbackWish> = {}): Intent => ({
  ...{ name: 'one', tenant: 'acme', key: 'key-one', origin: 0, orderKey: undefined, kind: 'plain', delayMs: 0 },
  policy: { maxAttempts: 3 },
  callback: { on: undefined, signing: 'plain', ...callback },
})

const post: Call = {
  ...{ kind: 'post', intent: 'one', life: '0.1', askedAt: 0, endedAt: 10, outcome: 'answered' },
  ...{ status: 201, taskId: 't1', durability: 'strict' },
}

const row = (status: string): TaskRow => ({
  ...{ taskId: 't1', status, attemptNumber: 1, tenant: 'acme', idempotencyKey: 'key-one' },
})

/** The task that tells an end of t1. */
const telling = (taskId = 'c1', idempotencyKey = 'cb-1'): TaskRow => ({
  ...{ taskId, status: 'SUCCEEDED', attemptNumber: 1, tenant: 'acme', idempotencyKey },
  tags: { 'callback-of': 't1' },
})

const visit = (startedAt: number, given: Partial<Visit> = {}): Visit => ({
  ...{ intent: 'one', attempt: 1, via: null, by: '0.1', method: 'POST', key: 'key-one', outcome: 'done', status: 200 },
  ...{ startedAt, endedAt: startedAt + 100, retryAfterMs: null },
  ...given,
})

const message = (type: string, at: number, data: object = {}) => ({
  ...{ type, timestamp: new Date(at).toISOString() },
  data: {
    ...{ taskId: 't1', idempotencyKey: 'key-one', tenant: 'acme', targetUrl: `${ORIGIN}/work` },
    ...{ lastStatus: 200, attemptNumber: 1 },
    ...data,
  },
})

/** A callback at 2,000 of an end at 1,000. */
const callback = (given: Partial<CallbackVisit> = {}): CallbackVisit => {
  const said = given.message ?? message('task.succeeded', 1_000)
  return {
    ...visit(2_000, { key: 'cb-1', status: 204 }),
    ...{ text: JSON.stringify(said), message: said, webhookId: 'c1', fault: null },
    ...given,
  }
}

const line = (kind: string, at: number, data: Said['data'] = {}): Said => ({ kind, at, data })

const delivered: ServiceFacts = {
  ...{ intents: [intent()], calls: [post], visits: [visit(900)], effects: new Map([['one', 1]]) },
  ...{ targets: [ORIGIN], callbacks: [callback()], quiet: [], found: new Map(), deadLetters: [] },
  rows: [row('SUCCEEDED'), telling()],
  stories: new Map([['t1', [line('succeeded', 1_000)]]]),
  counts: { ...COUNTS, succeeded: 2 },
  ...{ samples: [], pauses: [], redriven: new Map(), failedOperations: [], struck: [], exits: [], deaths: [] },
  ...{ drained: true, stoodStillMs: 0, mayStandStillMs: 1, limit: 8, limitPerOrigin: 3, exitMs: 1 },
}

const broken = (given: Partial<ServiceFacts>): readonly string[] => {
  const index = new Index({ ...delivered, ...given })
  const laws = Object.entries(callbackLaws(index)).filter(([, offenders]) => offenders.length > 0)
  const checks = callbackChecks(index).filter(({ ok }) => !ok)
  return [...laws.map(([label]) => label), ...checks.map(({ label }) => label)]
}

const NOT_TOLD = 'H13 ends that were not told'
const NOT_SO = 'H13 told, and not so'

/** Given up at 1,000, put back at 3,000, and delivered at 4,000. */
const redriven: Partial<ServiceFacts> = {
  stories: new Map([['t1', [line('exhausted', 1_000), line('redriven', 3_000), line('succeeded', 4_000)]]]),
  visits: [visit(900, { status: 400 }), visit(3_900)],
  quiet: [{ at: 2_500, rows: [row('EXHAUSTED')] }],
  rows: [row('SUCCEEDED'), telling(), telling('c2', 'cb-2')],
  callbacks: [
    callback({ message: message('task.exhausted', 1_000) }),
    callback({ message: message('task.succeeded', 4_000), key: 'cb-2', webhookId: 'c2', startedAt: 5_000 }),
  ],
}
const [first, second] = redriven.callbacks as [CallbackVisit, CallbackVisit]

const faults: readonly (readonly [label: string, facts: Partial<ServiceFacts>])[] = [
  [NOT_TOLD, { callbacks: [], rows: [row('SUCCEEDED')] }],
  // it came, and the receiver never said so
  [NOT_TOLD, { callbacks: [callback({ status: 503 })] }],
  [NOT_TOLD, { callbacks: [callback({ status: null, outcome: 'reset_after' })] }],
  // the end that was put back had been told, and the one after it was not; and the other way round
  [NOT_TOLD, { ...redriven, callbacks: [first] }],
  [NOT_TOLD, { ...redriven, callbacks: [second] }],
  // the first of two equal ends
  [
    NOT_TOLD,
    {
      ...redriven,
      rows: [row('EXHAUSTED'), telling()],
      stories: new Map([['t1', [line('exhausted', 1_000), line('redriven', 3_000), line('exhausted', 4_000)]]]),
      callbacks: [first],
    },
  ],
  ['H13 callbacks that do not verify', { callbacks: [callback({ fault: 'No matching signature found' })] }],
  ['H13 ends told under two keys', { callbacks: [callback(), callback({ key: 'cb-2' })] }],
  ['H13 ends told under two keys', { callbacks: [callback(), callback({ webhookId: 'c2' })] }],
  [
    'H13 keys under which two ends are told',
    { ...redriven, callbacks: [first, { ...second, key: 'cb-1', webhookId: 'c1' }] },
  ],
  ['H13 ends told in two ways', { callbacks: [callback(), callback({ text: '{}' })] }],
  ['H13 ends with two tasks', { rows: [row('SUCCEEDED'), telling(), telling('c2')] }],
  [
    'H13 one end told as two',
    {
      callbacks: [callback(), callback({ message: message('task.succeeded', 1_500), key: 'cb-2', webhookId: 'c2' })],
      rows: [row('SUCCEEDED'), telling(), telling('c2', 'cb-2')],
    },
  ],
  [NOT_SO, { callbacks: [callback(), callback({ message: undefined as never, text: 'what' })] }],
  [NOT_SO, { intents: [{ ...intent(), callback: undefined }] }],
  [NOT_SO, { intents: [intent({ on: ['exhausted'] })] }],
  [NOT_SO, { callbacks: [callback({ intent: 'two' })] }],
  [NOT_SO, { callbacks: [callback({ message: message('task.done', 1_000) })] }],
  [NOT_SO, { callbacks: [callback({ message: message('task.exhausted', 1_000) })] }],
  [NOT_SO, { callbacks: [callback({ message: message('task.cancelled', 1_000) })] }],
  [NOT_SO, { callbacks: [callback({ message: message('task.succeeded', 2_100) })] }],
  [NOT_SO, { callbacks: [callback({ message: message('task.succeeded', 1_000, { taskId: 't2' }) })] }],
  [NOT_SO, { callbacks: [callback({ message: message('task.succeeded', 1_000, { tenant: 'bravo' }) })] }],
  [NOT_SO, { callbacks: [callback({ key: 'cb-3' })] }],
  [NOT_SO, { callbacks: [callback({ webhookId: 'c3' })] }],
  // a success that the target has not had
  [NOT_SO, { visits: [visit(900, { status: 503 })] }],
  [NOT_SO, { visits: [visit(1_100)] }],
  // an end that belongs before the redrive
  [NOT_SO, { ...redriven, callbacks: [first, { ...second, message: message('task.exhausted', 4_000) }] }],
  // a cancel that no client has asked for
  [
    NOT_SO,
    {
      rows: [row('CANCELLED'), telling()],
      stories: new Map([['t1', [line('cancelled', 1_000)]]]),
      callbacks: [callback({ message: message('task.cancelled', 1_000) })],
    },
  ],
  ['H4 callbacks sent again before the attempt was over', { callbacks: [callback(), callback({ startedAt: 2_050 })] }],
  ['H8 requests at once, callbacks among them', { limit: 1, visits: [visit(900), visit(2_000)] }],
  [
    'H8 callbacks at once of a tenant',
    { limitPerOrigin: 1, callbacks: [callback(), callback({ key: 'cb-2', by: '1.2' })] },
  ],
  ['H8 callbacks at once of a process', { limitPerOrigin: 1, callbacks: [callback(), callback({ key: 'cb-2' })] }],
]

const passes: readonly (readonly [what: string, facts: Partial<ServiceFacts>])[] = [
  ['an end that was told', {}],
  ['one that was told again after its answer was lost', { callbacks: [callback(), callback({ startedAt: 3_000 })] }],
  ['each end of a task that was put back', redriven],
  [
    'an end that was put back before it was told',
    { ...redriven, quiet: [], rows: [row('SUCCEEDED'), telling('c2', 'cb-2')], callbacks: [second] },
  ],
  ['an end that its callback does not want', { intents: [intent({ on: ['cancelled'] })], callbacks: [] }],
  [
    'a late success of a task that was given up',
    {
      ...redriven,
      quiet: [],
      visits: [visit(900)],
      stories: new Map([['t1', [line('exhausted', 1_000), line('succeeded', 1_100)]]]),
    },
  ],
  [
    'a success that was told by a process that had been stopped over a redrive',
    {
      ...redriven,
      quiet: [],
      visits: [visit(900)],
      stories: new Map([['t1', [line('exhausted', 1_000), line('redriven', 3_000), line('succeeded', 1_100)]]]),
    },
  ],
  [
    'a callback sent by another process while the one before stood still',
    {
      struck: [{ kind: 'stop', life: '0.1', from: 2_010, until: 9_000 }],
      callbacks: [callback({ endedAt: 9_000 }), callback({ startedAt: 5_000, by: '1.2' })],
    },
  ],
]

judged(broken, faults, passes)
