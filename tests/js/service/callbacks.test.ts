// The end of a task is told to those who asked for it: once for each end, signed, and without a word that may not be stored.

import type { IncomingHttpHeaders } from 'node:http'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { describe, expect, onTestFinished, test } from 'vitest'
import { policyDefaults } from '../../../js/options/policy.ts'
import type { ApiStore } from '../../../js/service/api/context.ts'
import { Callbacks, type CallbacksOptions } from '../../../js/service/callbacks.ts'
import type { ServiceOptions } from '../../../js/service.ts'
import { memoryStore } from '../../../js/stores/memory.ts'
import { sqliteStore } from '../../../js/stores/sqlite.ts'
import { fakeClock } from '../../../js/testing/clock.ts'
import { eventually } from '../eventually.ts'
import { target } from './loopback.ts'
import { folder, json } from './program.ts'
import { setup as serviceSetup } from './service-setup.ts'

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const QUICK = { strategy: 'fixed', initialDelayMs: 5, jitterType: 'NONE', maxAttempts: 2 } as const

interface Told {
  readonly headers: IncomingHttpHeaders
  readonly text: string
  readonly body: { readonly type: string; readonly timestamp: string; readonly data: Record<string, unknown> }
}

/** A server with targets (`/ok`, `/bad`) and a receiver of callbacks (`/hooks`), which answers with what `answer` gives. */
async function server(answer: (told: Told) => number = () => 204) {
  const told: Told[] = []
  const { origin } = await target((seen) => {
    const { path, body, ...headers } = seen
    if (path !== '/hooks') return path.startsWith('/ok') ? 200 : 503
    const call = { headers, text: body, body: JSON.parse(body) }
    told.push(call)
    return answer(call)
  })
  return { origin, hooks: `${origin}/hooks`, told }
}

const STORES = {
  memory: () => memoryStore({ everyone: true }),
  sqlite: () => sqliteStore({ path: join(folder({}), 'tasks.db'), everyone: true }),
} as const

async function setup(options: Partial<ServiceOptions> = {}) {
  const made = await serviceSetup({ policies: [{ policyId: 'callbacks', ...QUICK }], ...options })
  const created = async (task: object): Promise<string> => {
    const answer = await made.post('/retry-tasks', { json: 1, policy: QUICK, ...task })
    const said = await json(answer)
    expect([answer.status, said.detail]).toEqual([201, undefined])
    return String(said.taskId)
  }
  return { ...made, created }
}

/** Both, of a receiver that takes all. */
const both = async (options: Partial<ServiceOptions> = {}) => ({ ...(await server()), ...(await setup(options)) })

describe.each(['memory', 'sqlite'] as const)('on a store in %s', (kind) => {
  test('each way to an end is told, with the facts of the task', async () => {
    const { origin, hooks, told, created, ask } = await both({ store: STORES[kind]() })
    const callback = { url: hooks }
    const ended = {
      succeeded: await created({ targetUrl: `${origin}/ok`, idempotencyKey: 'k1', tags: { invoice: '7' }, callback }),
      exhausted: await created({ targetUrl: `${origin}/bad`, idempotencyKey: 'k2', callback }),
      cancelled: await created({ targetUrl: `${origin}/ok`, idempotencyKey: 'k3', delayMs: 60_000, callback }),
    }
    await ask(`/retry-tasks/${ended.cancelled}`, { method: 'DELETE' })
    await eventually(() => told.length).toBe(3)
    const byType = Object.fromEntries(told.map(({ body }) => [body.type, body.data]))
    const common = { tenant: null, method: 'POST' }
    expect(byType).toEqual({
      'task.succeeded': {
        ...{ ...common, taskId: ended.succeeded, idempotencyKey: 'k1', targetUrl: `${origin}/ok` },
        ...{ attemptNumber: 1, lastStatus: 200, tags: { invoice: '7' } },
      },
      'task.exhausted': {
        ...{ ...common, taskId: ended.exhausted, idempotencyKey: 'k2', targetUrl: `${origin}/bad` },
        ...{ attemptNumber: 2, lastStatus: 503, reason: 'max_attempts' },
      },
      'task.cancelled': {
        ...{ ...common, taskId: ended.cancelled, idempotencyKey: 'k3', targetUrl: `${origin}/ok` },
        ...{ attemptNumber: 0, lastStatus: null },
      },
    })
    for (const { headers, body } of told) {
      expect(headers['content-type']).toBe('application/json')
      expect(headers['idempotency-key']).toBe(`cb-${body.data.taskId}-${Date.parse(body.timestamp)}`)
    }
    const { tasks } = await json(await ask('/retry-tasks?limit=1000'))
    const tagged = (tasks as readonly { tags?: object }[]).filter(({ tags = {} }) => 'callback-of' in tags)
    expect(tagged).toHaveLength(3)
  })

  test('only the ends that were asked for are told', async () => {
    const { origin, hooks, told, created, store } = await both({ store: STORES[kind]() })
    await created({ targetUrl: `${origin}/ok`, callback: { url: hooks, on: ['exhausted'] } })
    const dead = await created({ targetUrl: `${origin}/bad`, callback: { url: hooks, on: ['exhausted'] } })
    await eventually(() => told.length).toBe(1)
    await eventually(() => store.untold(10)).toEqual([])
    expect(told.map(({ body }) => [body.type, body.data.taskId])).toEqual([['task.exhausted', dead]])
  })

  test('H13: told again after a crash between the callback and its note, it is the same task', async () => {
    const { origin, hooks, told } = await server()
    const store = STORES[kind]() as ApiStore
    const { told: note } = store
    let lost = 0
    Object.assign(store, {
      told: (ends: Parameters<typeof note>[0]) => {
        if (lost++ < 2) return Promise.reject(new Error('the process is killed'))
        return note.call(store, ends)
      },
    })
    const { service, created, log } = await setup({ store })
    await created({ targetUrl: `${origin}/ok`, callback: { url: hooks } })
    await eventually(() => lost).toBeGreaterThan(0)
    // every look is one of the process that comes next
    for (let n = 0; n < 3; n++) await created({ targetUrl: `${origin}/ok` })
    await eventually(() => store.untold(10)).toEqual([])
    await eventually(() => store.counts()).toMatchObject({ pending: 0, inFlight: 0 })
    expect(told).toHaveLength(1)
    expect(log.filter(({ what }) => what === 'callbacks')).not.toEqual([])
    await service.close({ drainMs: 0 })
  })
})

test('a callback is signed by the keys that it names', async () => {
  const { origin, hooks, told } = await server()
  process.env.CALLBACK_KEY = SECRET
  onTestFinished(() => void delete process.env.CALLBACK_KEY)
  const { created } = await setup({ signing: { hooks: { keys: [{ from: 'env:CALLBACK_KEY' }] } } })
  await created({ targetUrl: `${origin}/ok`, callback: { url: hooks, signing: 'hooks' } })
  await eventually(() => told.length).toBe(1)
  const [{ headers, text, body }] = told as [Told]
  expect(new Webhook(SECRET).verify(text, headers as Record<string, string>)).toEqual(body)
  expect(() => new Webhook(SECRET).verify(`${text} `, headers as Record<string, string>)).toThrow()
})

test('a redriven dead letter tells its next end, too, under another key', async () => {
  const { origin, hooks, told, created, post } = await both()
  const taskId = await created({ targetUrl: `${origin}/bad`, idempotent: true, callback: { url: hooks } })
  await eventually(() => told.length).toBe(1)
  await post(`/dead-letters/${taskId}/redrive`, {})
  await eventually(() => told.length).toBe(2)
  expect(told.map(({ body }) => [body.type, body.data.taskId])).toEqual(Array(2).fill(['task.exhausted', taskId]))
  expect(new Set(told.map(({ headers }) => headers['idempotency-key'])).size).toBe(2)
})

/** A service whose looks for ends to be told come late: after `isLate` was set to false. */
async function late(kind: keyof typeof STORES, options: Partial<ServiceOptions> = {}) {
  const store = STORES[kind]() as ApiStore
  const { untold } = store
  const now = { isLate: true }
  const ofStore: ApiStore['untold'] = async (limit, taskIds) =>
    now.isLate && taskIds === undefined ? [] : untold.call(store, limit, taskIds)
  Object.assign(store, { untold: ofStore })
  return { ...(await setup({ store, ...options })), now }
}

test.for([
  ['memory', 'by itself', 'redriven'],
  ['sqlite', 'by itself', 'redriven'],
  ['memory', 'with all', 'redriven'],
  ['sqlite', 'with all', 'redriven'],
  ['memory', 'by itself', 'deleted'],
  ['sqlite', 'with all', 'deleted'],
] as const)(
  'S1 in %s a dead letter that is, %s, %s before its end was told tells that end all the same',
  async ([kind, how, what]) => {
    const { origin, hooks, told } = await server()
    const { created, post, ask, store, now } = await late(kind)
    const task = { targetUrl: `${origin}/bad`, idempotent: true, callback: { url: hooks } }
    const taskId = await created(task)
    const dead = async () => (await store.counts()).exhausted
    await eventually(dead).toBe(1)
    if (what === 'redriven' && how === 'with all') await post('/dead-letters/redrive', { filter: {} })
    else if (what === 'redriven') await post(`/dead-letters/${taskId}/redrive`, {})
    else if (how === 'with all') await post('/dead-letters/purge', { filter: {}, confirm: 1 })
    else await ask(`/dead-letters/${taskId}`, { method: 'DELETE' })
    await eventually(() => told.length).toBe(1)
    expect(told[0]?.body).toMatchObject({ type: 'task.exhausted', data: { taskId, attemptNumber: 2 } })
    now.isLate = false
    await eventually(dead).toBe(what === 'redriven' ? 1 : 0)
    if (what === 'redriven') await eventually(() => told.length).toBe(2)
  },
)

test('S1 a dead letter stays where the store has no room for the callback of its end', async () => {
  const { origin, hooks, told, created, post, ask, store } = await both({ capacity: 1 })
  const taskId = await created({ targetUrl: `${origin}/bad`, idempotent: true, callback: { url: hooks } })
  await eventually(async () => (await store.counts()).exhausted).toBe(1)
  const back = await post(`/dead-letters/${taskId}/redrive`, {})
  expect([back.status, await json(back)]).toMatchObject([503, { type: 'urn:redrive:problem:queue-full', taskId }])
  const { operationId } = await json(await post('/dead-letters/redrive', { filter: {} }))
  await eventually(async () => json(await ask(`/operations/${operationId}`))).toMatchObject({
    status: 'DONE',
    skipped: 1,
  })
  expect([told, (await store.get(taskId))?.status]).toEqual([[], 'EXHAUSTED'])
})

test('a callback is tried again with one key, and becomes a dead letter that tells nothing', async () => {
  const { origin, hooks, told } = await server(() => 503)
  const { created, ask } = await setup()
  await created({ targetUrl: `${origin}/ok`, callback: { url: hooks } })
  const dead = async (): Promise<readonly object[]> => (await json(await ask('/dead-letters'))).tasks as object[]
  await eventually(dead).toHaveLength(1)
  const [letter] = await dead()
  expect(letter).toMatchObject({ targetUrl: hooks, reason: 'max_attempts', policyId: 'callbacks' })
  expect(letter).not.toHaveProperty('callback')
  expect(told.map(({ headers }) => headers['idempotency-key'])).toEqual(
    Array(2).fill(told[0]?.headers['idempotency-key']),
  )
})

test.each([500, 503])(
  'without a policy of that name callbacks have the one for webhooks: a receiver that answers %i once is asked again',
  async (status) => {
    const { origin, hooks } = await server(() => status)
    const { created, ask } = await setup({ policies: [] })
    const taskId = await created({ targetUrl: `${origin}/ok`, callback: { url: hooks } })
    const tried = async () => {
      const { tasks } = await json(await ask('/retry-tasks'))
      return (tasks as readonly { policyId: string; attemptNumber: number }[]).filter(
        ({ policyId, attemptNumber }) => policyId === 'svix' && attemptNumber === 1,
      )
    }
    await eventually(tried).toMatchObject([{ status: 'PENDING', tags: { 'callback-of': taskId } }])
  },
)

test('S17: a store without room tells an end later, and keeps no other back', async () => {
  const { origin, hooks, told, created, ask, log, post } = await both({ capacity: 2 })
  const filler = await created({ targetUrl: `${origin}/ok`, delayMs: 60_000 })
  await created({ targetUrl: `${origin}/bad`, callback: { url: hooks } })
  await eventually(() => log.find(({ what }) => what === 'callbacks')).toMatchObject({ count: 1 })
  expect(told).toEqual([])
  await ask(`/retry-tasks/${filler}`, { method: 'DELETE' })
  await post('/flush', {})
  await eventually(() => told.length).toBe(1)
})

test('S17: a tenant whose quota is taken up by its dead letters still hears of them', async () => {
  const { origin, hooks, told, ask, log } = await both({ tenants: { ann: { capacity: 2 } } })
  const headers = { 'content-type': 'application/json', 'redrive-tenant': 'ann' }
  const post = (task: object) =>
    ask('/retry-tasks', { method: 'POST', headers, body: JSON.stringify({ json: 1, policy: QUICK, ...task }) })
  const dead = { targetUrl: `${origin}/bad`, callback: { url: hooks } }
  expect([(await post(dead)).status, (await post(dead)).status]).toEqual([201, 201])
  await eventually(() => told.length).toBe(2)
  // they count: what comes in new has no room
  expect((await post({ targetUrl: `${origin}/ok` })).status).toBe(429)
  expect(log.filter(({ what }) => what === 'callbacks')).toEqual([])
})

test('S17: where dead letters and their callbacks take up twice the quota of a tenant, no more of them are asked for', async () => {
  const { origin, hooks } = await server(() => 503)
  const { ask } = await setup({ tenants: { ann: { capacity: 1 } } })
  const headers = { 'content-type': 'application/json', 'redrive-tenant': 'ann' }
  const post = async (path: string, body: object) => {
    const answer = await ask(path, { method: 'POST', headers, body: JSON.stringify(body) })
    return { status: answer.status, ...(await json(answer)) } as Record<string, unknown>
  }
  const task = { targetUrl: `${origin}/bad`, idempotent: true, json: 1, policy: QUICK, callback: { url: hooks } }
  const { taskId } = await post('/retry-tasks', task)
  const held = async () => {
    const { pending, inFlight, exhausted } = (await json(await ask('/stats', { headers }))).counts as Record<
      string,
      number
    >
    return [exhausted && exhausted > 0, (pending ?? 0) + (inFlight ?? 0) + (exhausted ?? 0)]
  }
  await eventually(held).toEqual([true, 2])
  expect(await post(`/dead-letters/${taskId}/redrive`, {})).toMatchObject({
    status: 429,
    type: 'urn:redrive:problem:quota-exceeded',
  })
})

test('S17: while the store has no room, ends are not looked for with each turn that tells of them', async () => {
  const clock = fakeClock()
  const url = 'https://hooks.test/'
  const senderData = { callback: { url, on: ['exhausted'] } }
  const task = { taskId: 'a', status: 'EXHAUSTED', principal: null, targetUrl: url, senderData }
  let looks = 0
  const store = {
    untold: async () => {
      looks++
      return [{ task, endedAt: 1 }]
    },
    attempts: async () => ({ attempts: [] }),
    enqueue: async () => [{ outcome: 'full' }],
  } as unknown as ApiStore
  const callbacks = new Callbacks({
    ...{ store, clock, log: () => {}, enqueue: (tasks) => store.enqueue(tasks), told: () => {}, left: () => {} },
    sanitizer: { url: (url: string) => url } as CallbacksOptions['sanitizer'],
    policy: async () => policyDefaults,
  })
  callbacks.start()
  const turns = async (): Promise<number> => {
    const before = looks
    for (let n = 0; n < 50; n++) {
      callbacks.look()
      await clock.advance(10)
    }
    return looks - before
  }
  await clock.advance(1)
  expect(looks).toBe(1)
  expect(await turns()).toBe(0)
  expect(await turns()).toBe(1)
  await callbacks.stop()
})

test('the URL of a callback is held to the rules of targets, and its keys to its tenants', async () => {
  const { origin, post } = await both()
  const refused = async (callback: object) => {
    const answer = await post('/retry-tasks', { targetUrl: `${origin}/ok`, json: 1, callback })
    const { type, detail, errors } = await json(answer)
    return [answer.status, String(type).replace('urn:redrive:problem:', ''), detail, errors]
  }
  const noUrl = 'callback.url: expected an absolute http or https URL'
  expect(await refused({ url: 'hooks' })).toMatchObject([422, 'invalid', noUrl, [{ pointer: '#/callback/url' }]])
  expect((await refused({ url: 'http://10.1.2.3/hooks' })).slice(0, 2)).toEqual([422, 'target-refused'])
  expect((await refused({ url: `${origin}/hooks?token=0123456789abcdef0123456789abcdef` })).slice(0, 2)).toEqual([
    422,
    'url-secret',
  ])
  expect((await refused({ url: `${origin}/hooks`, signing: 'nothing' })).slice(0, 3)).toEqual([
    422,
    'credential-refused',
    'callback.signing: there is no signing of this name for this tenant',
  ])
  expect((await refused({ url: `${origin}/hooks`, on: [] })).slice(0, 2)).toEqual([422, 'invalid'])
  expect((await refused({ url: `${origin}/hooks`, on: ['attempt'] })).slice(0, 2)).toEqual([422, 'invalid'])
})

test('S12: the secret in the URL of a target is not told', async () => {
  const { origin, hooks, told, created, ask } = await both({ urlSecrets: 'keep' })
  const secret = 'sk_live_0123456789abcdefghij'
  const taskId = await created({ targetUrl: `${origin}/ok?api_key=${secret}`, callback: { url: hooks } })
  await eventually(() => told.length).toBe(1)
  expect(told[0]?.text).not.toContain(secret)
  const shown = await json(await ask(`/retry-tasks/${taskId}`))
  expect(shown.callback).toEqual({ url: hooks, on: ['succeeded', 'exhausted', 'cancelled'] })
})

test('what became of ends is counted', async () => {
  const { origin, hooks, told, created, ask } = await both()
  await created({ targetUrl: `${origin}/ok`, callback: { url: hooks } })
  await created({ targetUrl: `${origin}/ok`, callback: { url: hooks, on: ['exhausted'] } })
  await eventually(() => told.length).toBe(1)
  const counted = async () => (await (await ask('/metrics')).text()).match(/^redrive_(?:callbacks_total|untold).*$/gm)
  await eventually(counted).toEqual([
    'redrive_callbacks_total{outcome="stored"} 1',
    'redrive_callbacks_total{outcome="unwanted"} 1',
    'redrive_untold 0',
  ])
})
