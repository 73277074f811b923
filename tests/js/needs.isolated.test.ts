/**
 * A task that was stored with a hook is not sent without it, nor its key under another header: a process that only looks, or an older
 * deploy, leaves it to one that has what the task needs.
 */

import { expect, test } from 'vitest'
import { RetryQueue, type RetryQueueOptions } from '../../js/index.ts'
import { type FakeClock, fakeClock, scriptedServer } from '../../js/testing.ts'
import { world } from './durable-setup.ts'
import { PLACES, type StoragePlace } from './rows/places.ts'
import { closeNow, forApi, heard, NO_GATES, ORDERS, PLAIN_CURVE, watch } from './setup.ts'
import { browser } from './tabs-setup.ts'

const POST = { method: 'POST', body: 'tea' } as const
const sign = () => ({ 'x-signature': 'signed' })
const credentials = forApi(() => ({ authorization: 'Bearer 1' }))
const idempotency = { header: 'Webhook-Id' } as const
const KEYED = { ...POST, redrive: { idempotencyKey: 'msg_1' } } as const

const HOOKS: readonly (readonly [
  what: string,
  options: RetryQueueOptions,
  header: string,
  value: string,
  need: string,
  name: string,
])[] = [
  ['sign', { sign }, 'x-signature', 'signed', 'sign', '`sign`'],
  [
    'the header of the key',
    { idempotency },
    'webhook-id',
    'msg_1',
    'header webhook-id',
    "`idempotency: { header: 'webhook-id' }`",
  ],
  [
    'credentials',
    { credentials },
    'authorization',
    'Bearer 1',
    'credentials https://api.test',
    "`credentials['https://api.test']`",
  ],
]

test.each(HOOKS)(
  'S12 a process without %s sends nothing that needs it, and says so',
  async (_, hooks, header, value, need, name) => {
    const it = world()
    const sender = await it.open(hooks)
    sender.queue.pause()
    const { taskId } = await sender.queue.enqueue(ORDERS, KEYED)
    await it.close(sender)
    const viewer = await it.open()
    await it.clock.advance(3_600_000)
    expect([it.server.hits, viewer.queue.stats().lacking]).toEqual([0, [need]])
    expect(viewer.events.of('degraded')).toEqual([
      { code: 'credentials_missing', message: expect.stringContaining(name), origin: 'https://api.test' },
    ])
    const explained = await viewer.queue.explain(taskId)
    expect(explained.at(-1)).toMatchObject({
      kind: 'waits',
      data: { gate: 'needs' },
      text: `waits for a queue with ${name}, which this one does not have; one that has will send it`,
    })
    expect((await viewer.queue.get(taskId))?.attemptNumber).toBe(0)
    // the viewer is still there when the right one opens
    await it.open(hooks)
    await it.clock.advance(1_000)
    expect(it.server.requests.map(({ headers }) => headers.get(header))).toEqual([value])
    await it.clock.advance(60_000)
    expect(viewer.queue.stats().lacking).toBeUndefined()
  },
)

test('a task without a key, and one whose key has the default header, need no header', async () => {
  const it = world()
  for (const header of ['webhook-id', 'idempotency-key']) {
    const sender = await it.open({ idempotency: { header } })
    sender.queue.pause()
    await sender.queue.enqueue(ORDERS, header === 'webhook-id' ? { method: 'GET' } : KEYED)
    await it.close(sender)
  }
  await it.open()
  await it.clock.advance(1_000)
  expect(it.server.requests.map(({ headers }) => headers.get('idempotency-key'))).toEqual([null, 'msg_1'])
})

test.each<[what: string, first: RetryQueueOptions, then: RetryQueueOptions, sent: readonly [string, string]]>([
  ['in the default header by a queue with another', {}, { idempotency }, ['idempotency-key', 'msg_1']],
  ['bare by a queue that quotes', {}, { idempotency: { format: 'sf-string' } }, ['idempotency-key', 'msg_1']],
  ['quoted by a queue that does not', { idempotency: { format: 'sf-string' } }, {}, ['idempotency-key', '"msg_1"']],
  [
    'quoted in a header of its own by a queue with that header',
    { idempotency: { ...idempotency, format: 'sf-string' } },
    { idempotency },
    ['webhook-id', '"msg_1"'],
  ],
])('S5 a key goes out as at the first attempt: %s', async (_, first, then, [header, value]) => {
  const it = world()
  const sender = await it.open(first)
  it.server.reply(503).reply(503)
  await sender.queue.enqueue(ORDERS, KEYED)
  await it.clock.settle()
  await it.close(sender)
  const next = await it.open(then)
  await it.clock.advance(3_600_000)
  const keys = it.server.requests.map(({ headers }) =>
    ['idempotency-key', 'webhook-id'].map((name) => headers.get(name)),
  )
  const asWritten = header === 'webhook-id' ? [null, value] : [value, null]
  expect(keys).toEqual([asWritten, asWritten, asWritten])
  expect([next.queue.stats().lacking, next.events.of('degraded')]).toEqual([undefined, []])
})

test('S12 one report names the origins of all tasks that are left, a few by name', async () => {
  const it = world()
  const sender = await it.open({ sign })
  sender.queue.pause()
  for (let i = 1; i <= 5; i++) await sender.queue.enqueue(`https://hook${i}.test/in`, POST)
  await it.close(sender)
  const viewer = await it.open()
  await it.clock.advance(1_000)
  expect(viewer.events.of('degraded')).toEqual([
    {
      code: 'credentials_missing',
      message:
        'tasks to https://hook1.test, https://hook2.test, https://hook3.test and 2 more origins were stored by a queue with `sign`, ' +
        'which this one does not have: they wait for a queue that has it',
    },
  ])
})

test('S12 beside a process that only looks, the right one sends all that it stores, at once', async () => {
  const it = world()
  const viewer = await it.open()
  const sender = await it.open({ sign })
  for (let i = 0; i < 20; i++) await sender.queue.enqueue(ORDERS, POST)
  await it.clock.advance(1_000)
  expect(it.server.requests.map(({ headers }) => headers.get('x-signature'))).toEqual(Array(20).fill('signed'))
  expect(viewer.events.names()).toEqual([])
})

test('a process sends its own tasks to an origin at which others wait for a hook that it lacks', async () => {
  const it = world()
  const sender = await it.open({ sign })
  sender.queue.pause()
  for (let i = 0; i < 300; i++) await sender.queue.enqueue(ORDERS, POST)
  await it.close(sender)
  const other = await it.open()
  it.server.reply(503)
  await other.queue.enqueue(`${ORDERS}/own`, POST)
  await it.clock.advance(1_100)
  expect(it.server.requests.map(({ url }) => url)).toEqual([`${ORDERS}/own`, `${ORDERS}/own`])
})

test('S12 a task that was handed over after a first attempt is left, too', async () => {
  const it = world()
  const sender = await it.open({ sign })
  it.server.reply(503)
  watch(sender.queue.fetch(ORDERS, { ...POST, redrive: { mode: 'defer' } }))
  expect(await it.hitsAfter()).toBe(1)
  await it.close(sender)
  const viewer = await it.open()
  expect(await it.hitsAfter(3_600_000)).toBe(1)
  await it.close(viewer)
  await it.open({ sign })
  await it.clock.advance(60_000)
  expect(it.server.requests.map(({ headers }) => headers.get('x-signature'))).toEqual(['signed', 'signed'])
})

const NEEDS = ['credentials https://api.test', 'header webhook-id', 'format sf-string', 'sign']

/** A process on a storage, and what it has sent. */
async function processOn(place: StoragePlace, clock: FakeClock, options: RetryQueueOptions = {}) {
  const server = scriptedServer({ clock })
  const store = place.open(clock)
  const policy = PLAIN_CURVE
  const queue = new RetryQueue({ clock, fetch: server.fetch, store, principal: null, policy, ...NO_GATES, ...options })
  const events = heard(queue, clock)
  await queue.ready
  return { queue, server, events, store }
}

test.for(Object.keys(PLACES))('S5 S12 S20 %s keeps what a task needs, and how its key is written', async (name) => {
  const place = (PLACES[name] as () => StoragePlace)()
  const clock = fakeClock()
  const quoted = { ...idempotency, format: 'sf-string' } as const
  const sender = await processOn(place, clock, { sign, credentials, idempotency: quoted })
  sender.queue.pause()
  const { taskId } = await sender.queue.enqueue(ORDERS, KEYED)
  expect((await sender.store.get(taskId))?.needs).toEqual(NEEDS)
  await closeNow(sender.queue, clock)
  for (const [has, lacks] of [
    [{ sign, idempotency }, 'credentials https://api.test'],
    [{ sign, credentials }, 'header webhook-id'],
    [{ credentials, idempotency }, 'sign'],
  ] as const) {
    const viewer = await processOn(place, clock, has)
    for (let i = 0; i < 20; i++) await clock.advance(1_000)
    expect([viewer.server.hits, viewer.queue.stats().lacking]).toEqual([0, [lacks]])
    await closeNow(viewer.queue, clock)
  }
  const right = await processOn(place, clock, { sign, credentials, idempotency })
  for (let i = 0; i < 20 && right.server.hits === 0; i++) await clock.advance(1_000)
  expect(right.server.requests.map(({ headers }) => headers.get('x-signature'))).toEqual(['signed'])
})

test('S12 a tab that leads and lacks the hook lets another lead, at once', async () => {
  const { open, clock, server } = browser()
  const first = await open()
  server.hang()
  await first.queue.enqueue(`${ORDERS}/own`, POST)
  await clock.settle()
  const second = await open({ sign })
  await second.queue.enqueue(ORDERS, POST)
  await clock.advance(5_000)
  const signatures = server.requests.map(({ url, headers }) => [url, headers.get('x-signature')])
  expect(signatures).toEqual([
    [`${ORDERS}/own`, null],
    [ORDERS, 'signed'],
  ])
})

/** A header that is not stored, and that no `credentials` give, is in one process alone: while it lives, it sends the task. */
const OWN = { ...POST, headers: { authorization: 'Bearer 1' } } as const
const TASKS = [1, 2, 3, 4, 5, 6]

test.each(['enqueue', 'defer'] as const)(
  'L3 what was handed over by %s with a header of its own is not taken, and parked, by a process without it',
  async (how) => {
    const { open, clock, server } = world()
    const [sender, other] = [await open(), await open()]
    for (const _ of TASKS) server.reply(503)
    for (const n of TASKS) {
      if (how === 'enqueue') await sender.queue.enqueue(`${ORDERS}/${n}`, OWN)
      else await sender.queue.fetch(`${ORDERS}/${n}`, { ...OWN, redrive: { mode: 'defer' } })
    }
    await clock.advance(120_000)
    expect(sender.events.of('succeeded')).toHaveLength(TASKS.length)
    expect(new Set(server.requests.map(({ headers }) => headers.get('authorization')))).toEqual(new Set(['Bearer 1']))
    expect(other.events.of('degraded')).toEqual([])
  },
)

test('S12 once that process is gone, another one parks the task and says what it lacks', async () => {
  const { open, close, clock, server } = world()
  const [sender, other] = [await open(), await open()]
  server.reply(503, { 'retry-after': '10' })
  await sender.queue.enqueue(ORDERS, OWN)
  await clock.advance(1_000)
  await close(sender)
  await clock.advance(60_000)
  expect([server.hits, other.events.of('degraded')]).toMatchObject([1, [{ code: 'credentials_missing' }]])
})

test('L3 a tab that does not lead sends what it alone has the headers of', async () => {
  const { open, clock, server } = browser()
  const [leader, second] = [await open(), await open()]
  server.hang()
  await leader.queue.enqueue(`${ORDERS}/other`, { method: 'POST' })
  await clock.settle()
  server.reply(503)
  await second.queue.enqueue(ORDERS, OWN)
  await clock.advance(30_000)
  expect(
    server.requests.filter(({ url }) => url === ORDERS).map(({ headers }) => headers.get('authorization')),
  ).toEqual(['Bearer 1', 'Bearer 1'])
  expect(leader.events.of('degraded')).toEqual([])
})
