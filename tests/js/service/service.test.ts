// The service as a library: requests are answered without a socket, tasks are sent by the real transport.
import { describe, expect, onTestFinished, test } from 'vitest'
import { StorageFullError } from '../../../js/api/task-errors.ts'
import { createService } from '../../../js/service.ts'
import { memoryStore } from '../../../js/stores/memory.ts'
import { fakeClock } from '../../../js/testing.ts'
import { onLoopback } from '../../loopback.ts'
import { eventually } from '../eventually.ts'
import { type Seen, target } from './loopback.ts'
import { json, sha256 } from './program.ts'
import { QUICK, setup } from './service-setup.ts'

async function shop(statuses: readonly number[] = []) {
  const left = [...statuses]
  return target(() => left.shift() ?? 200)
}

/** The keys under which a target was asked. */
const keysIn = (seen: readonly Seen[]) => seen.map((each) => each['idempotency-key'])

test('a task is delivered under one key from the client to the target, however often it is tried', async () => {
  const { ended, post } = await setup()
  const { url, seen } = await shop([503, 503])
  const task = { targetUrl: url, method: 'POST', json: { sku: 1 }, policy: QUICK }
  const answer = await post('/retry-tasks', task, { 'idempotency-key': 'invoice-1' })
  expect(answer.status).toBe(201)
  const end = { status: 'SUCCEEDED', attemptNumber: 3, idempotencyKey: 'invoice-1' }
  expect(await ended(answer)).toMatchObject(end)
  expect(keysIn(seen)).toEqual(['invoice-1', 'invoice-1', 'invoice-1'])
})

test('headers of one’s own reach the target as they were given, with a user agent', async () => {
  const { ended, post } = await setup()
  const { url, seen } = await shop()
  const headers = { 'x-of-mine': 'Blue, 7', 'User-Agent': 'shop/1', 'content-type': 'text/plain' }
  await ended(await post('/retry-tasks', { targetUrl: url, method: 'POST', body: 'x', headers }))
  expect(seen).toMatchObject([{ 'x-of-mine': 'Blue, 7', 'user-agent': 'shop/1', 'content-type': 'text/plain' }])
})

test('metrics count requests by route, calls of the store, refusals and attempts, and name no URL', async () => {
  const { ask, post } = await setup({ allowLoopback: false })
  const refused = await post('/retry-tasks', { targetUrl: 'https://10.0.0.1/secret-path', method: 'PUT', body: 'x' })
  expect(refused.status).toBe(422)
  await ask('/nothing/here')
  const text = await (await ask('/metrics')).text()
  expect(text).toMatch(/^redrive_http_requests_total\{route="\/retry-tasks",method="POST",status="422"\} 1$/m)
  expect(text).toMatch(/^redrive_http_requests_total\{route="none",method="other",status="404"\} 1$/m)
  expect(text).toMatch(/^redrive_target_refused_total\{rule="private"\} 1$/m)
  expect(text).toMatch(/^redrive_store_call_duration_seconds_count\{call="turn"\} \d+$/m)
  expect(text).toMatch(/^retry_queue_capacity 1000000$/m)
  expect(text).toMatch(/^redrive_build_info\{version="unknown"\} 1$/m)
  expect(text).not.toMatch(/secret-path|nothing/)
})

test('a store that is full refuses what is new as such, and the service is not ready for a while', async () => {
  const memory = memoryStore({ everyone: true })
  let isFull = false
  const enqueue = memory.enqueue.bind(memory)
  memory.enqueue = async (...given) => {
    if (isFull) throw new StorageFullError('the disk is full')
    return enqueue(...given)
  }
  const clock = fakeClock()
  const { ask, post, log } = await setup({ store: memory, clock })
  const ready = async () => (await ask('/readyz')).status
  const create = async () => {
    const task = { targetUrl: 'https://api.example.com', method: 'POST', body: 'x', delayMs: 60_000 }
    const answer = await post('/retry-tasks', task)
    return [answer.status, (await json(answer)).type]
  }
  await clock.advance(100)
  expect(await ready()).toBe(200)
  isFull = true
  for (const _ of [1, 2]) expect(await create()).toEqual([503, 'urn:redrive:problem:queue-full'])
  expect(await ready()).toBe(503)
  expect(log.filter(({ event }) => event === 'store_full')).toHaveLength(1)
  // one that is let in finds out whether there is room
  await clock.advance(10_000)
  expect(await ready()).toBe(200)
  expect(await create()).toEqual([503, 'urn:redrive:problem:queue-full'])
  isFull = false
  expect(await ready()).toBe(503)
  expect((await create())[0]).toBe(201)
  expect(await ready()).toBe(200)
})

test('policies that a full store holds already keep no service from starting', async () => {
  const store = memoryStore({ everyone: true })
  const policies = [{ policyId: 'invoices', maxAttempts: 6 }]
  await setup({ store, policies })
  store.registry.write = async () => {
    throw new StorageFullError('the disk is full')
  }
  const { ask } = await setup({ store, policies })
  expect((await ask('/retry-policies/invoices')).status).toBe(200)
  const other = createService({ store, policies: [{ policyId: 'invoices', maxAttempts: 7 }] })
  onTestFinished(() => other.close({ drainMs: 0 }))
  await expect(other.ready).rejects.toThrow('the disk is full')
})

test('metrics say how late tasks start after their wait was over, and how many each turn claims', async () => {
  const { ask, ended, post } = await setup()
  const { url } = await shop([503])
  const task = { targetUrl: url, method: 'POST', body: 'x', delayMs: 50, policy: { ...QUICK, initialDelayMs: 50 } }
  expect(await ended(await post('/retry-tasks', task))).toMatchObject({ status: 'SUCCEEDED', attemptNumber: 2 })
  const text = await (await ask('/metrics')).text()
  expect(text).toMatch(/^redrive_lateness_seconds_count 2$/m)
  expect(text).toMatch(/^redrive_turn_claimed_sum 2$/m)
  const [, turns] = /^redrive_turn_claimed_bucket\{le="0"\} (\d+)$/m.exec(text) ?? []
  expect(Number(turns)).toBeGreaterThan(0)
})

test('an address that is refused only when it is connected to ends the task, and is counted', async () => {
  const { ask, ended, post } = await setup({ allowLoopback: false, lookup: async () => [{ address: '10.1.2.3' }] })
  const task = { targetUrl: 'https://api.example.com/', method: 'PUT', body: 'x' }
  const end = await ended(await post('/retry-tasks', task))
  expect(end).toMatchObject({ status: 'EXHAUSTED', reason: 'target_refused' })
  const { attempts } = await json(await ask(`/retry-tasks/${end.taskId}/attempts`))
  expect(attempts).toHaveLength(1)
  expect(JSON.stringify(attempts)).not.toContain('10.1.2.3')
  expect(await (await ask('/metrics')).text()).toMatch(/^redrive_target_refused_total\{rule="private"\} 1$/m)
})

describe('reload', () => {
  test('new targets, policies and tokens apply to the next request', async () => {
    const { service, ask, post } = await setup()
    await service.reload({ targets: ['https://api.example.com'], policies: [{ policyId: 'slow', strategy: 'fixed' }] })
    const task = { targetUrl: 'https://other.example/', method: 'PUT', body: 'x' }
    expect((await post('/retry-tasks', task)).status).toBe(422)
    expect((await ask('/retry-policies/slow')).status).toBe(200)
    await service.reload({ tokens: [] })
    expect((await ask('/retry-tasks')).status).toBe(401)
  })

  test('what is left out stays as it is, and what is undefined is as if it had never been given', async () => {
    const { service, post } = await setup({ tokens: [], targets: ['https://a.example'] })
    const task = (host: string) => ({ targetUrl: `https://${host}.example/`, method: 'PUT', body: 'x' })
    await service.reload({ targets: ['https://b.example'] })
    expect((await post('/retry-tasks', task('b'))).status).toBe(401)
    await service.reload({ tokens: undefined })
    expect((await post('/retry-tasks', task('a'))).status).toBe(422)
    await service.reload({ targets: undefined })
    expect((await post('/retry-tasks', task('a'))).status).toBe(201)
  })

  test('what is wrong changes nothing', async () => {
    const { service, ask } = await setup()
    await expect(service.reload({ targets: ['nonsense'], tokens: [] })).rejects.toThrow(TypeError)
    const policies = [{ policyId: 'slow' }, { policyId: 'svix' }]
    await expect(service.reload({ policies, tokens: [] })).rejects.toThrow("'svix' is the name of a preset")
    expect((await ask('/retry-tasks')).status).toBe(200)
    expect((await ask('/retry-policies/slow')).status).toBe(404)
  })
})

const tokenOf = (text: string) => ({
  name: text,
  sha256: sha256(text),
  tenant: text,
  scopes: ['tasks:read', 'tasks:write'] as const,
})

test('the hold of a lane is shown to its own tenant alone', async () => {
  const { ask, post } = await setup({ tokens: [tokenOf('ann'), tokenOf('bob')] })
  const origin = await onLoopback((_, response) => void response.writeHead(503, { 'retry-after': '50' }).end())
  const as = (token: string) => ({ authorization: `Bearer ${token}` })
  const held = async (token: string) => {
    const { lanes } = await json(await ask('/stats', { headers: as(token) }))
    return (lanes as { heldUntilAt: number | null }[]).map(({ heldUntilAt }) => heldUntilAt !== null)
  }
  const task = { targetUrl: `${origin}/`, method: 'PUT', body: 'x' }
  await post('/retry-tasks', task, as('ann'))
  await eventually(() => held('ann')).toEqual([true])
  await post('/retry-tasks', { ...task, delayMs: 60_000 }, as('bob'))
  expect(await held('bob')).toEqual([false])
})

test('a task that is due says that a pause holds it, or that a limit may', async () => {
  const { url, seen } = await target(() => 200)
  const { ask, post } = await setup({ limits: { [new URL(url).origin]: { perSecond: 0.001 } } })
  const create = async (more: object = {}) =>
    (await json(await post('/retry-tasks', { targetUrl: url, method: 'PUT', body: 'x', ...more }))).taskId
  const waits = async (taskId: unknown) => {
    const { decisions } = await json(await ask(`/retry-tasks/${taskId}/explain`))
    return (decisions as { text: string; data?: object }[]).at(-1)
  }
  await create()
  await eventually(() => seen.length).toBe(1)
  const taskId = await create()
  await eventually(() => waits(taskId)).toMatchObject({
    text: expect.stringMatching(/^waits for its turn within the limit/),
  })
  expect((await post('/pauses', { tenant: null })).status).toBe(201)
  expect(await waits(taskId)).toMatchObject({
    text: 'waits for the end of a pause: DELETE /pauses/{pauseId} lifts it',
    data: { gate: 'paused' },
  })
})

test('one that leaves says that it is stopping, and still takes tasks', async () => {
  const { service, ask, post } = await setup()
  service.leave()
  const answer = await ask('/readyz')
  expect([answer.status, (await json(answer)).checks]).toEqual([503, { store: true, runner: true, draining: true }])
  const task = { targetUrl: 'http://127.0.0.1:1/', method: 'PUT', body: 'x' }
  expect((await post('/retry-tasks', task)).status).toBe(201)
})

test.each([
  [{ unknownOption: 1 }, /^createService\.unknownOption: no such option/],
  [{ token: [] }, /^createService\.token: no such option; .*tokens/],
  [{ tokens: 'rd_a' }, /^createService\.tokens: expected an array/],
  [{ tokens: [{ ...tokenOf('ann'), sha256: 'rd_a' }] }, /^createService\.tokens\[0\]\.sha256: expected 64 hex digits/],
  [{ rate: { perSecond: 0 } }, /^createService\.rate\.perSecond: expected a number above 0, got 0/],
  [{ store: undefined }, /^createService\.store: expected a store/],
])('an option that is unknown or wrong is refused by its name: %j', async (options, message) => {
  const given = { store: memoryStore({ everyone: true }), ...options }
  expect(() => createService(given as never)).toThrow(message)
})

test('a reload refuses what it does not know, or cannot change', async () => {
  const { service, ask } = await setup({ tokens: [] })
  for (const wrong of [{ token: [] }, { capacity: 5 }, { tokens: 'rd_a' }]) {
    await expect(service.reload(wrong as never)).rejects.toThrow(/^reload\.\w+: /)
  }
  expect((await ask('/retry-tasks')).status).toBe(401)
})

test("an 'api' takes tasks and sends none", async () => {
  const { post, store } = await setup({ role: 'api' })
  const { url, seen } = await shop()
  expect((await post('/retry-tasks', { targetUrl: url, method: 'PUT', body: 'x' })).status).toBe(201)
  const worker = createService({ store, allowLoopback: true })
  onTestFinished(() => worker.close({ drainMs: 0 }))
  expect(seen).toEqual([])
  await worker.ready
  await eventually(() => seen.length).toBe(1)
})

test.each([
  ['a store for one principal', memoryStore(), /store for everyone, such as sqliteStore/],
  [
    'a store without settings',
    Object.assign(Object.create(memoryStore({ everyone: true })), { registry: undefined }),
    /registry/,
  ],
])('%s is refused at once', (_, store, message) => {
  expect(() => createService({ store })).toThrow(message)
})

test('a dead letter, a circuit and trouble of the store are in the log, without a query or a key', async () => {
  const { post, log } = await setup()
  const { url } = await shop([400])
  await post('/retry-tasks', { targetUrl: `${url}?customer=77`, method: 'PUT', body: 'x', idempotencyKey: 'key-of-77' })
  await eventually(() => log.filter(({ event }) => event === 'exhausted').length).toBe(1)
  const said = { level: 'warn', reason: 'not_retryable', tenant: null }
  expect(log.find(({ event }) => event === 'exhausted')).toMatchObject(said)
  expect(JSON.stringify(log)).not.toMatch(/customer|key-of-77/)
})
