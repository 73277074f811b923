import { describe, expect, test } from 'vitest'
import { RedriveError } from '../../../../js/api/errors.ts'
import { perTurn, recordsRead } from './longest-turn.ts'
import { idOf, ORDERS, refusalOf, STORES, setup, typeOf, type World } from './setup.ts'

const ORIGIN = new URL(ORDERS).origin

/** Hands over so many tasks that wait. */
async function filled({ ask }: World, count: number, task: object = {}, headers = {}): Promise<void> {
  for (let left = count; left > 0; left -= 500) {
    const tasks = Array(Math.min(left, 500)).fill({ targetUrl: ORDERS, delayMs: 60_000, ...task })
    expect((await ask('POST', '/retry-tasks/batch', { body: { tasks }, headers })).status).toBe(200)
  }
}

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
      ...{ bytes: 4, capacity: kind === 'partitions' ? 30_000 : 10_000, moreLanes: false },
      durability: kind === 'sqlite' ? 'strict' : 'memory',
    })
    expect(json.lanes).toMatchObject([
      {
        ...{ origin: 'https://other.test', tenant: null, pending: 2, circuit: 'CLOSED' },
        nextAttemptAt: clock.now() + 30_000,
      },
      { origin: ORIGIN, tenant: 'acme', pending: 1, nextAttemptAt: clock.now() + 60_000, paused: false },
    ])
  })
})

test.for(['memory', 'sqlite'] as const)('stats read few tasks at once, and a thousand in all: %s', async (kind) => {
  const world = await setup({ kind, sends: false })
  await filled(world, 1_100)
  const read = recordsRead(world.store)
  const { json } = await world.ask('GET', '/stats')
  expect(json).toMatchObject({ counts: { pending: 1_100 }, lanes: [{ pending: 1_000 }], moreLanes: true })
  expect(read.most).toBeLessThanOrEqual(64)
})

test('a flush of many lanes reads few tasks at once, and makes those of one lane due', async () => {
  const world = await setup({ kind: 'sqlite', sends: false })
  for (let n = 0; n < 5; n++) {
    await filled(world, 100, { targetUrl: `https://${n}.test/` }, { 'redrive-tenant': 'acme' })
  }
  const read = recordsRead(world.store)
  const flushes = perTurn()
  const flush = world.store.flush.bind(world.store)
  world.store.flush = (lane) => {
    flushes.count(1)
    return flush(lane)
  }
  expect((await world.ask('POST', '/flush', { body: { origin: 'https://4.test' } })).json).toEqual({ due: 100 })
  expect((await world.ask('POST', '/flush', { body: { tenant: 'acme' } })).json).toEqual({ due: 400 })
  expect([read.most <= 64, flushes.most]).toEqual([true, 1])
})

test('a tenant has 100 pauses at most, also of those that come at once, and others have room', async () => {
  const { ask } = await setup({ sends: false })
  const pause = (n: number, tenant: string | undefined = 'acme') =>
    ask('POST', '/pauses', { body: { origin: `https://${n}.test`, ...(tenant !== '' && { tenant }) } })
  const answers = await Promise.all(Array.from({ length: 110 }, (_, n) => pause(n)))
  expect(answers.map(({ status }) => status)).toEqual([...Array(100).fill(201), ...Array(10).fill(409)])
  const refused = await pause(200)
  expect([typeOf(refused), refused.json.detail]).toEqual(['pauses-full', expect.stringMatching(/^100 .*: lift one/)])
  for (const tenant of ['other', '']) expect((await pause(200, tenant)).status).toBe(201)
  // one that is there may have another reason, and one that is lifted makes room
  expect((await pause(7)).status).toBe(200)
  expect((await ask('DELETE', `/pauses/${answers[7]?.json.pauseId}`)).status).toBe(204)
  expect((await pause(200)).status).toBe(201)
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
  expect(refusalOf(refused)).toEqual([503, 'draining'])
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
