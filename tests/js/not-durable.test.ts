/** Nothing is lost without a word: a durable queue that is handed a call and cannot store it refuses it, and says what is in the way. */

import axios from 'axios'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { attachToAxios } from '../../js/adapters/axios.ts'
import { wrapFetch } from '../../js/adapters/fetch.ts'
import type { TaskStore } from '../../js/api/store.ts'
import {
  NotDurableError,
  type QueueEvents,
  RetryQueue,
  type RetryQueueOptions,
  type TaskOptions,
} from '../../js/index.ts'
import { systemClock } from '../../js/platform/clock.ts'
import { sqliteStore } from '../../js/stores/sqlite.ts'
import { scriptedServer } from '../../js/testing.ts'
import { faulty, opened, type World, withMethods, world } from './durable-setup.ts'
import { markOf, ORDERS, watch } from './setup.ts'
import { claimOf } from './store-contract/kit.ts'

const POST = { method: 'POST', body: 'tea' } as const
const SECRET = 's3cr3t-0123456789abcdef'

type Init = RequestInit & { readonly redrive?: TaskOptions }

/** Calls that may not be stored: the code of the reason, and what the message names. */
const unstorable: readonly (readonly [what: string, url: string, init: Init, reason: string, names: string[]])[] = [
  ['x-tenant', ORDERS, { headers: { 'x-tenant': 'a' } }, 'headers_withheld', ['x-tenant', 'sanitize.persistHeaders']],
  [
    'x-app-version',
    ORDERS,
    { headers: { 'x-app-version': '7' } },
    'headers_withheld',
    ['x-app-version', 'persistHeaders'],
  ],
  ['user-agent', ORDERS, { headers: { 'user-agent': 'me' } }, 'headers_withheld', ['user-agent', 'persistHeaders']],
  [
    'webhook-id',
    ORDERS,
    { headers: { 'webhook-id': 'evt_1', 'webhook-timestamp': '1' } },
    'headers_withheld',
    ["idempotency: { header: 'webhook-id' }", 'redrive.idempotencyKey', '`sign` makes the rest for each attempt'],
  ],
  [
    "Slack's path",
    'https://api.test/services/T0123ABCD/B0123ABCD/x7kq',
    {},
    'url_secret',
    ['a part of its path looks like a secret', "set sanitize.urlSecrets: 'keep'"],
  ],
  ['?token=', `${ORDERS}?a=1&token=${SECRET}`, {}, 'url_secret', ["'token' in its URL", 'sanitize.urlSecrets']],
]

const gone = Object.assign(new Error('the disk is gone'), { code: 'STORAGE_UNAVAILABLE' })
const broken = new Error('the disk fails')

test.each(unstorable)('S1 enqueue rejects what may not be stored: %s', async (_, url, init, reason, names) => {
  const { queue, events, server, clock } = await opened()
  const refused = await queue.enqueue(url, { ...POST, ...init }).catch((error) => error)
  expect(refused).toBeInstanceOf(NotDurableError)
  expect(refused).toMatchObject({ name: 'NotDurableError', code: 'NOT_DURABLE', reason })
  for (const name of [...names, 'POST https://api.test', 'allowMemory']) expect(refused.message).toContain(name)
  expect(refused.message).not.toContain(SECRET)
  await clock.advance(60_000)
  expect([server.hits, queue.stats().depth, events.names()]).toEqual([0, 0, []])
})

test.each<[string, RetryQueueOptions, TaskOptions]>([
  ['of the queue', { allowMemory: true }, {}],
  ['of the call', {}, { allowMemory: true }],
  ['of the call, before that of the queue', { allowMemory: false }, { allowMemory: true }],
])('with allowMemory %s it is kept in memory, and the receipt says so', async (_, options, redrive) => {
  const it = world((store) => withMethods(store, { durability: 'strict' }))
  const { queue, events } = await it.open(options)
  const { durability } = await queue.enqueue(ORDERS, { ...POST, headers: { 'x-tenant': 'a' }, redrive } as Init)
  expect(durability).toBe('memory')
  expect(events.of('degraded')).toMatchObject([{ code: 'headers_withheld' }])
  expect(await it.hitsAfter()).toBe(1)
})

test('allowMemory: false of a call wins over the queue’s', async () => {
  const { queue } = await opened({ allowMemory: true })
  const init = { ...POST, headers: { 'x-tenant': 'a' }, redrive: { allowMemory: false } } as Init
  await expect(queue.enqueue(ORDERS, init)).rejects.toMatchObject({ code: 'NOT_DURABLE' })
})

test.each(unstorable)(
  'an awaited call goes on in memory, and `degraded` says why: %s',
  async (_, url, init, code, names) => {
    const { queue, events, clock } = await opened({}, 503)
    const answer = watch(queue.fetch(url, { ...POST, ...init }))
    await clock.advance(2_000)
    expect(answer.value?.status).toBe(200)
    expect(events.of('degraded')).toMatchObject([{ code, message: expect.stringContaining(names[0] ?? '') }])
  },
)

test.each(unstorable)(
  'a deferred call has its own first answer, and is not promised anything: %s',
  async (_, url, init, reason) => {
    const { queue, events, hitsAfter } = await opened({}, [503, { 'x-own': 'yes' }, 'later'], 'lost')
    const redrive = { mode: 'defer' } as const
    const answer = await queue.fetch(url, { ...POST, ...init, redrive } as Init)
    expect([answer.status, answer.headers.get('x-own'), await answer.text()]).toEqual([503, 'yes', 'later'])
    expect(markOf(answer)).toEqual({ reason: 'not_durable' })
    const error = await queue.fetch(url, { ...POST, ...init, redrive } as Init).catch((thrown) => thrown)
    expect(error.message).toBe('fetch failed')
    expect(markOf(error)).toEqual({ reason: 'not_durable' })
    expect(events.of('degraded')).toMatchObject([
      { code: reason, message: expect.stringContaining('cannot be stored') },
      { code: 'not_durable', message: expect.stringContaining('allowMemory') },
    ])
    expect(await hitsAfter(60_000)).toBe(2)
  },
)

test('a deferred call with allowMemory is answered 202, which says memory', async () => {
  const it = world((store) => withMethods(store, { durability: 'strict' }))
  const { queue } = await it.open()
  it.server.reply(503)
  const init = { ...POST, headers: { 'x-tenant': 'a' }, redrive: { mode: 'defer', allowMemory: true } } as Init
  const answer = await queue.fetch(ORDERS, init)
  expect([answer.status, await answer.json()]).toMatchObject([202, { durability: 'memory' }])
})

test('what is sensitive is in memory, as was asked', async () => {
  const it = world((store) => withMethods(store, { durability: 'strict' }))
  const { queue, events } = await it.open()
  const { durability } = await queue.enqueue(ORDERS, { ...POST, redrive: { sensitive: true } } as Init)
  expect([durability, events.of('degraded')]).toEqual(['memory', []])
})

test('what is handed over is stored whatever its method', async () => {
  const it = world((store) => withMethods(store, { durability: 'strict' }))
  const { queue } = await it.open({ persistMethods: ['POST'] })
  expect((await queue.enqueue(ORDERS)).durability).toBe('strict')
  expect((await queue.enqueue(ORDERS, { method: 'DELETE' })).durability).toBe('strict')
  it.server.reply(503)
  const answer = await queue.fetch(`${ORDERS}/7`, { redrive: { mode: 'defer' } } as Init)
  expect([answer.status, await answer.json()]).toMatchObject([202, { durability: 'strict' }])
})

test.each([
  ['cannot be opened', gone, true],
  ['is away', gone, false],
  ['fails', broken, false],
])('S1 enqueue rejects while the store %s, and stores again once it can', async (_, error, fromTheStart) => {
  const it = faulty(undefined, () => ({ durability: 'strict' }))
  if (fromTheStart) it.error = error
  const { queue } = await it.open()
  it.error = error
  const refused = { code: 'NOT_DURABLE', reason: 'storage_unavailable', message: expect.stringContaining('the disk') }
  for (const path of ['1', '2']) {
    const receipt = watch(queue.enqueue(`${ORDERS}/${path}`, POST))
    await it.clock.advance(1_000)
    expect(receipt.error).toMatchObject(refused)
  }
  const allowed = watch(queue.enqueue(`${ORDERS}/3`, { ...POST, redrive: { allowMemory: true } } as Init))
  await it.clock.advance(1_000)
  // one that fails midway may have the task all the same
  const isKept = error === gone
  if (isKept) expect(allowed.value?.durability).toBe('memory')
  else expect(allowed.error).toMatchObject(refused)
  it.error = undefined
  await it.clock.advance(60_000)
  expect((await queue.enqueue(`${ORDERS}/4`, POST)).durability).toBe('strict')
  await it.clock.settle()
  expect(it.server.requests.map(({ url }) => url)).toEqual([...(isKept ? [`${ORDERS}/3`] : []), `${ORDERS}/4`])
})

/** A world whose store takes tasks, and whose answers are lost while `loses`. */
function losing(more: (store: TaskStore) => Partial<TaskStore> = () => ({})): World & { loses: boolean } {
  const answers = { loses: true }
  const it = world((store) =>
    withMethods(store, {
      durability: 'strict',
      enqueue: async (tasks, lease) => {
        const done = await store.enqueue(tasks, lease)
        if (answers.loses) throw broken
        return done
      },
      ...more(store),
    }),
  )
  return Object.assign(answers, it)
}

/** Ways for two calls to have one key. */
const shared: readonly (readonly [string, RetryQueueOptions, Init])[] = [
  ['the caller’s own key', {}, { ...POST, redrive: { idempotencyKey: 'order-7' } }],
  ['a key made of the content', { idempotency: { mode: 'content' }, principal: 'ann' }, POST],
]

test.each(shared)(
  'S1 an enqueue whose answer is lost takes nothing from the call that asked again under %s',
  async (_, options, init) => {
    const cancels: (() => void)[] = []
    const it = losing((store) => ({
      // one that comes late
      cancel: async (taskId) => {
        await new Promise<void>((resolve) => cancels.push(resolve))
        return store.cancel(taskId)
      },
    }))
    it.server.reply(503)
    const { queue } = await it.open(options)
    const first = watch(queue.enqueue(ORDERS, init))
    await it.clock.advance(400)
    const refused = { reason: 'storage_unavailable', message: expect.stringMatching(/not known.*same idempotency key/) }
    expect(first.error).toMatchObject(refused)
    it.loses = false
    const { taskId, deduplicated } = await queue.enqueue(ORDERS, init)
    expect(deduplicated).toBe(true)
    for (const cancel of cancels) cancel()
    await it.clock.advance(60_000)
    expect(await queue.get(taskId)).toMatchObject({ status: 'SUCCEEDED' })
  },
)

const slowly = (ms: number) => (it: () => World) => (store: TaskStore) => ({
  async cancel(taskId: string) {
    await new Promise<void>((resolve) => it().clock.after(ms, resolve))
    return store.cancel(taskId)
  },
})

const takenBy = (owner: string) => (store: TaskStore) => ({
  async enqueue(...given: Parameters<TaskStore['enqueue']>) {
    await store.enqueue(...given)
    await store.turn({ owner, settle: [], renew: [], claim: claimOf() })
    throw broken
  },
})

test.each<
  [what: string, more: (it: () => World) => (store: TaskStore) => Partial<TaskStore>, forMs: number, says: string]
>([
  [
    'cancelled: no task is left that only its caller could ask for again',
    slowly(100),
    500,
    'which is cancelled: it will not be sent',
  ],
  ['not cancelled yet', slowly(5_000), 1_000, 'that is cancelled once it answers, unless it was sent by then'],
  ['sent already by another process', () => takenBy('another'), 1_000, 'has it, and it was sent, or is sent now'],
])('S1 an enqueue whose answer is lost rejects, and says what became of its task: %s', async (_, more, forMs, says) => {
  const it: World & { loses: boolean } = losing(more(() => it))
  const { queue } = await it.open()
  await queue.pause()
  let left: unknown
  const refused = watch(
    queue.enqueue(ORDERS, POST).catch(async (error) => {
      left = await it.store.counts()
      throw error
    }),
  )
  await it.clock.advance(forMs)
  expect(refused.error).toMatchObject({ code: 'NOT_DURABLE', message: expect.stringContaining(says) })
  if (forMs === 500) expect(left).toMatchObject({ pending: 0, inFlight: 0, cancelled: 1 })
  it.loses = false
  await it.clock.advance(60_000)
  const { tasks } = await queue.list()
  expect(tasks.map(({ status }) => status)).toEqual([says.startsWith('has it') ? 'IN_FLIGHT' : 'CANCELLED'])
})

test('S1 a path that cannot be written: enqueue rejects, and an awaited call goes on', async () => {
  const it = world()
  const store = sqliteStore({ path: '/proc/orders.db', clock: it.clock })
  const { queue, events } = await it.open({ store })
  await expect(queue.enqueue(ORDERS, POST)).rejects.toMatchObject({
    code: 'NOT_DURABLE',
    reason: 'storage_unavailable',
    message: expect.stringContaining('/proc/orders.db'),
  })
  it.server.reply(503)
  const answer = watch(queue.fetch(ORDERS, POST))
  await it.clock.advance(2_000)
  expect(answer.value?.status).toBe(200)
  expect(events.of('degraded')).toMatchObject([{ code: 'storage_unavailable' }])
})

test('enqueue rejects where its key is that of a task in memory', async () => {
  const { queue, clock } = await opened({}, 503)
  const redrive = { idempotencyKey: 'order-1' } as const
  const headers = { 'x-tenant': 'a' }
  const answer = watch(queue.fetch(ORDERS, { ...POST, headers, redrive } as Init))
  await clock.advance(500)
  const refused = { code: 'NOT_DURABLE', reason: 'in_memory', message: expect.stringContaining('is in memory') }
  await expect(queue.enqueue(ORDERS, { ...POST, headers, redrive } as Init)).rejects.toMatchObject(refused)
  await clock.advance(1_000)
  expect(answer.value?.status).toBe(200)
})

test('S12 who enqueues a header that is not stored hears that its task waits for credentials after a reload', async () => {
  const it = world((store) => withMethods(store, { durability: 'strict' }))
  const init = { ...POST, headers: { authorization: `Bearer ${SECRET}` } }
  const first = await it.open()
  first.queue.pause()
  await first.queue.enqueue(ORDERS, init)
  await first.queue.enqueue(ORDERS, init)
  const [said, ...more] = first.events.of('degraded')
  expect([said?.code, more]).toEqual(['credentials_missing', []])
  expect(said?.message).toMatch(/authorization is not stored.*`credentials\['https:\/\/api\.test'\]` gives it$/)
  expect(said?.message).not.toContain(SECRET)
  const second = await it.open({ credentials: { 'https://api.test': () => ({ authorization: 'Bearer fresh' }) } })
  await second.queue.enqueue(ORDERS, init)
  expect(second.events.of('degraded')).toEqual([])
})

describe('a durable queue without a store, outside a page: a server runs the modules of the page that it renders', () => {
  const noStore = {
    code: 'NOT_DURABLE',
    reason: 'no_store',
    message: expect.stringMatching(/no store.*sqliteStore.*allowMemory: true/),
  }
  function make(options: RetryQueueOptions = {}) {
    const server = scriptedServer()
    const queue = new RetryQueue({ durable: true, principal: null, warn: false, fetch: server.fetch, ...options })
    onTestFinished(() => queue.close())
    const degraded: QueueEvents['degraded'][] = []
    queue.on('degraded', (payload) => degraded.push(payload))
    return { queue, server, degraded }
  }

  test('is made, and starts and says nothing until it is used', async () => {
    const after = vi.spyOn(systemClock, 'after')
    onTestFinished(() => after.mockRestore())
    const { queue, degraded } = make()
    queue.subscribe(() => {})
    expect(await queue.list()).toEqual({ tasks: [] })
    expect(queue.stats().depth).toBe(0)
    expect(after).not.toHaveBeenCalled()
    expect(degraded).toEqual([])
  })

  test('sends calls, and says once that they are not stored', async () => {
    const { queue, server, degraded } = make()
    for (let i = 0; i < 2; i++) expect((await queue.fetch(ORDERS, POST)).status).toBe(200)
    expect((await wrapFetch(queue)(ORDERS)).status).toBe(200)
    expect(server.hits).toBe(3)
    expect(degraded).toMatchObject([
      { code: 'storage_unavailable', message: expect.stringMatching(/no store.*memory.*sqliteStore/) },
    ])
  })

  test.each<[what: string, call: (queue: RetryQueue) => Promise<unknown>]>([
    ['enqueue', (queue) => queue.enqueue(ORDERS, POST)],
    ["mode: 'defer'", (queue) => queue.fetch(ORDERS, { ...POST, redrive: { mode: 'defer' } })],
    [
      'Axios, deferred',
      async (queue) => {
        const api = axios.create({ adapter: 'fetch' })
        attachToAxios(api, queue)
        return api.post(ORDERS, 'tea', { redrive: { mode: 'defer' } })
      },
    ],
  ])('refuses what it would lose, unsent: %s', async (_, call) => {
    const { queue, server } = make()
    await expect(call(queue)).rejects.toMatchObject(noStore)
    expect(server.hits).toBe(0)
  })

  test('takes it with allowMemory: true', async () => {
    const { queue } = make({ allowMemory: true })
    expect(await queue.enqueue(ORDERS, POST)).toMatchObject({ durability: 'memory' })
    expect((await queue.fetch(ORDERS, { ...POST, redrive: { mode: 'defer' } })).status).toBe(200)
  })

  test('checks its other options', () => {
    // @ts-expect-error
    expect(() => new RetryQueue({ durable: true })).toThrow('options.principal')
    expect(() => new RetryQueue({ durable: true, principal: null, concurrency: 0 })).toThrow('options.concurrency')
  })
})
