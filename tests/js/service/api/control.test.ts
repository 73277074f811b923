import { describe, expect, test } from 'vitest'
import { RedriveError } from '../../../../js/api/errors.ts'
import { idOf, ORDERS, STORES, setup, typeOf } from './setup.ts'

const ORIGIN = new URL(ORDERS).origin

describe.for(STORES)('%s', (kind) => {
  test('a pause keeps its scope back until it is lifted', async () => {
    const { ask, create, clock, server } = await setup({ kind })
    const paused = await ask('POST', '/pauses', { body: { origin: ORIGIN, reason: 'maintenance' } })
    expect(paused).toMatchObject({ status: 201, json: { origin: ORIGIN, reason: 'maintenance', at: clock.now() } })
    const again = await ask('POST', '/pauses', { body: { reason: 'longer', origin: ORIGIN } })
    expect(again).toMatchObject({ status: 200, json: { pauseId: paused.json.pauseId, reason: 'longer' } })
    await ask('POST', '/pauses', { body: { origin: ORIGIN, tenant: 'acme' } })
    expect((await ask('GET', '/pauses')).json.pauses).toHaveLength(2)
    await create()
    await create({ targetUrl: 'https://other.test/' })
    await clock.advance(5_000)
    expect(server.requests.map(({ url }) => url)).toEqual(['https://other.test/'])
    expect((await ask('GET', '/stats')).json.lanes).toMatchObject([{ origin: ORIGIN, paused: true, pending: 1 }])
    expect((await ask('DELETE', `/pauses/${paused.json.pauseId}`)).status).toBe(204)
    await clock.advance(100)
    expect(server.hits).toBe(2)
    expect((await ask('DELETE', `/pauses/${paused.json.pauseId}`)).status).toBe(404)
  })

  test('a flush makes waiting tasks due, in the lanes that it names', async () => {
    const { ask, create, clock, server } = await setup({ kind })
    const as = (tenant: string) => ({ headers: { 'redrive-tenant': tenant } })
    for (const tenant of ['acme', 'other']) {
      for (const targetUrl of [ORDERS, 'https://other.test/'])
        await create({ delayMs: 3_600_000, targetUrl }, as(tenant))
    }
    expect((await ask('POST', '/flush', { body: { origin: ORIGIN, tenant: 'acme' } })).json).toEqual({ due: 1 })
    expect((await ask('POST', '/flush', { body: { tenant: 'acme' } })).json).toEqual({ due: 1 })
    expect((await ask('POST', '/flush', { body: { origin: ORIGIN } })).json).toEqual({ due: 1 })
    expect((await ask('POST', '/flush')).json).toEqual({ due: 1 })
    await clock.advance(5_000)
    expect(server.hits).toBe(4)
  })

  test('stats count, and show the lanes that come soonest first', async () => {
    const { ask, create, dead, clock } = await setup({ kind })
    await dead()
    await create({ delayMs: 60_000, body: '1234' }, { headers: { 'redrive-tenant': 'acme' } })
    await create({ delayMs: 30_000, targetUrl: 'https://other.test/' })
    await create({ delayMs: 90_000, targetUrl: 'https://other.test/' })
    const { json } = await ask('GET', '/stats')
    expect(json).toMatchObject({
      counts: { pending: 3, inFlight: 0, succeeded: 0, exhausted: 1, cancelled: 0, purged: 0 },
      ...{
        bytes: 4,
        capacity: kind === 'partitions' ? 30_000 : 10_000,
        durability: kind === 'sqlite' ? 'strict' : 'memory',
        moreLanes: false,
      },
    })
    expect(json.lanes).toMatchObject([
      {
        origin: 'https://other.test',
        tenant: null,
        pending: 2,
        nextAttemptAt: clock.now() + 30_000,
        circuit: 'CLOSED',
      },
      { origin: ORIGIN, tenant: 'acme', pending: 1, nextAttemptAt: clock.now() + 60_000, paused: false },
    ])
  })
})

test.for([
  [{ origin: 'api.test' }, '/pauses'],
  [{ origin: `${ORIGIN}/` }, '/flush'],
  [{ tenants: 'acme' }, '/pauses'],
  [{ tenant: '' }, '/flush'],
  [[], '/pauses'],
] as const)('%j is refused at %s: it may have been meant to be less than everything', async ([body, path]) => {
  const { ask, store } = await setup({ sends: false })
  expect((await ask('POST', path, { body })).status).toBe(422)
  expect(await store.pauses.list()).toEqual([])
})

test('health is of the process, readiness of all that it needs', async () => {
  const { ask, now, store } = await setup({ sends: false })
  expect(await ask('GET', '/healthz')).toMatchObject({ status: 200, json: { status: 'ok', version: '0.0.0-test' } })
  const checks = { store: true, runner: true, draining: false }
  expect(await ask('GET', '/readyz')).toMatchObject({ status: 200, json: { checks } })
  now.isReady = false
  expect(await ask('GET', '/readyz')).toMatchObject({ status: 503, json: { checks: { ...checks, runner: false } } })
  now.isReady = true
  now.isDraining = true
  expect(await ask('GET', '/readyz')).toMatchObject({ status: 503, json: { checks: { ...checks, draining: true } } })
  now.isDraining = false
  store.counts = () => Promise.reject(new Error('the disk is gone'))
  expect(await ask('GET', '/readyz')).toMatchObject({ status: 503, json: { checks: { ...checks, store: false } } })
  expect((await ask('GET', '/healthz')).status).toBe(200)
})

test('a store that hangs makes the process unready, not the probe hang', async () => {
  const { ask, store, clock } = await setup({ sends: false })
  store.counts = () => new Promise(() => {})
  const probe = ask('GET', '/readyz')
  await clock.advance(1_000)
  expect((await probe).status).toBe(503)
})

test('a process that stops takes nothing new and still answers', async () => {
  const { ask, create, now } = await setup({ sends: false })
  const taskId = idOf(await create())
  now.isDraining = true
  const refused = await create()
  expect([refused.status, typeOf(refused)]).toEqual([503, 'draining'])
  expect([refused.headers.get('retry-after'), refused.headers.get('connection')]).toEqual(['1', 'close'])
  expect((await ask('DELETE', `/retry-tasks/${taskId}`)).status).toBe(503)
  expect((await ask('GET', `/retry-tasks/${taskId}`)).status).toBe(200)
  expect((await ask('POST', '/plan', { body: {} })).status).toBe(200)
})

test.for([
  [new RedriveError('STORAGE_UNAVAILABLE', 'the file is locked'), 503, 'store-unavailable', '1'],
  [new RedriveError('STORAGE_FULL', 'no room'), 503, 'queue-full', '5'],
  [new RedriveError('QUEUE_CLOSED', 'closed'), 503, 'draining', '1'],
  [new Error('https://user:pass@api.test/?token=3f1d2c9b7e60a4f8'), 500, 'internal', null],
] as const)('a store that fails with %s', async ([error, status, type, retryAfter]) => {
  const { create, store, log } = await setup({ sends: false })
  store.enqueue = () => Promise.reject(error)
  const answer = await create()
  expect([answer.status, typeOf(answer), answer.headers.get('retry-after')]).toEqual([status, type, retryAfter])
  expect(answer.text).not.toContain('api.test')
  expect(JSON.stringify(log)).not.toContain('3f1d2c9b7e60a4f8')
  expect(log).toContainEqual(expect.objectContaining({ event: 'error', requestId: answer.json.instance }))
})

test('the root says what there is', async () => {
  const { ask } = await setup({ sends: false })
  const { json } = await ask('GET', '/')
  expect(json).toMatchObject({ name: 'redrive', version: '0.0.0-test' })
  for (const path of Object.values(json.links as object)) expect((await ask('GET', path)).status).toBe(200)
})

test.each(['http://a*', 'https://api.example.com/', 'HTTPS://api.example.com', 'https://a b', 'ftp://a'])(
  'an origin that none can have, or that is none, is refused: %s',
  async (origin) => {
    const { ask } = await setup()
    expect(await ask('POST', '/pauses', { body: { origin } })).toMatchObject({ status: 422 })
  },
)
