import { describe, expect, test } from 'vitest'
import { memoryBodies } from '../bodies/memory-bodies.ts'
import {
  type Answered,
  idOf,
  ORDERS,
  refusalOf,
  STORES,
  setup,
  sha256,
  tokenFor,
  typeOf,
  type World,
  type WorldOptions,
} from './setup.ts'

async function world(options: WorldOptions = {}) {
  const bodies = memoryBodies()
  return { bodies, ...(await setup({ sends: false, bodies, ...options })) }
}

const upload = ({ ask }: World, raw: Uint8Array<ArrayBuffer> | string, more: { readonly token?: string } = {}) => {
  const headers = { 'content-type': 'video/mp4', 'content-length': `${Buffer.byteLength(raw)}` }
  return ask('POST', '/bodies', { raw, headers, ...more })
}
const uploaded = async (raw: string) => {
  const here = await world()
  return { here, json: (await upload(here, raw)).json }
}

const put = (more: object) => ({ targetUrl: ORDERS, method: 'PUT', ...more })

const recordOf = async ({ store }: World, answer: Answered) => store.get(idOf(answer))

describe('an upload', () => {
  test('is kept as it came, and is named by its id, its length and its SHA-256', async () => {
    const here = await world()
    const bytes = Uint8Array.from([0, 255, 10, 13, 128])
    const { status, json } = await upload(here, bytes)
    expect(status).toBe(201)
    expect(json).toMatchObject({ bytes: 5, sha256: sha256(bytes), expiresAt: here.clock.now() + 86_400_000 })
    expect(json.bodyRef).toMatch(/^[0-9a-f-]{36}\.5\.[\w-]{43}$/)
    expect([...here.bodies.held.values()].map((held) => [...held])).toEqual([[...bytes]])
  })

  test('of nothing is a body, too', async () => {
    const { here, json } = await uploaded('')
    expect(json).toMatchObject({ bytes: 0, sha256: sha256('') })
    expect((await here.create(put({ bodyRef: json.bodyRef }))).status).toBe(201)
  })

  test('needs a length, which is at most that of the settings', async () => {
    const here = await world({ bodyLimits: { maxUploadBytes: 10 } })
    expect(refusalOf(await here.ask('POST', '/bodies', { raw: 'x' }))).toEqual([411, 'length-required'])
    expect(refusalOf(await upload(here, 'x'.repeat(11)))).toEqual([413, 'body-too-large'])
    expect((await upload(here, 'x'.repeat(10))).status).toBe(201)
  })

  test('is refused where there is no store for it, and where that does not answer', async () => {
    expect(refusalOf(await upload(await setup({ sends: false }), 'x'))).toEqual([501, 'no-body-store'])
    const here = await world()
    here.bodies.failing.set('put', 1)
    const away = await upload(here, 'x')
    expect([away.status, typeOf(away), away.headers.get('retry-after')]).toEqual([503, 'store-unavailable', '1'])
  })
})

describe('a task with a reference', () => {
  test('has the body of it, which it shows by the reference', async () => {
    const { here, json } = await uploaded('large')
    const answer = await here.create(put({ bodyRef: json.bodyRef, headers: { 'content-type': 'text/plain' } }))
    expect(answer.status).toBe(201)
    const [ref] = here.bodies.held.keys()
    expect(await recordOf(here, answer)).toMatchObject({
      bodyBytes: 0,
      senderData: { body: { ref, bytes: 5, sha256: sha256('large'), upload: json.bodyRef } },
    })
    const shown = await here.ask('GET', `/retry-tasks/${idOf(answer)}`)
    expect(shown.json).toMatchObject({ bodyRef: json.bodyRef })
    const body = await here.ask('GET', `/retry-tasks/${idOf(answer)}/body`)
    expect([body.status, body.text, body.headers.get('content-type')]).toEqual([200, 'large', 'text/plain'])
  })

  test('may be one of many with the same', async () => {
    const { here, json } = await uploaded('large')
    for (let i = 0; i < 3; i++) expect((await here.create(put({ bodyRef: json.bodyRef }))).status).toBe(201)
    expect(here.bodies.held.size).toBe(1)
  })

  test.each([
    ['another length', (ref: string) => ref.replace('.5.', '.6.'), 201],
    ['another id', (ref: string) => ref.replace(/^\w/, (digit) => (digit === 'f' ? 'e' : 'f')), 422],
  ])('of %s is what it says, if there is a body of that id', async (_, change, status) => {
    const { here, json } = await uploaded('large')
    expect((await here.create(put({ bodyRef: change(String(json.bodyRef)) }))).status).toBe(status)
  })

  test("of another tenant's, of one that is gone, or has expired, is refused in the same words", async () => {
    const tenants = { a: 'acme', b: 'beta', n: null }
    const here = await world({ tokens: Object.entries(tenants).map(([name, of]) => tokenFor(name, of, 'tasks:write')) })
    const { json } = await upload(here, 'large', { token: 'a' })
    const task = put({ bodyRef: json.bodyRef })
    const refused = async (token: string) => {
      const answer = await here.create(task, { token })
      return [answer.status, typeOf(answer), answer.json.detail]
    }
    const why = 'bodyRef: there is no such body: it was never uploaded by this tenant, or is kept no longer'
    const words = [422, 'body-ref-unknown', why]
    expect(await refused('b')).toEqual(words)
    expect(await refused('n')).toEqual(words)
    expect((await here.create(task, { token: 'a' })).status).toBe(201)
    await here.clock.advance(86_400_000)
    expect(await refused('a')).toEqual(words)
  })

  test('is refused where there is no store of bodies, and where that does not answer', async () => {
    const { here, json } = await uploaded('large')
    const task = put({ bodyRef: json.bodyRef })
    expect(typeOf(await (await setup({ sends: false })).create(task))).toBe('body-ref-unknown')
    here.bodies.failing.set('open', 1)
    expect(typeOf(await here.create(task))).toBe('store-unavailable')
    here.bodies.held.clear()
    expect(typeOf(await here.create(task))).toBe('body-ref-unknown')
  })

  test.each([
    [{ body: 'x' }, '#/bodyRef'],
    [{ json: 1 }, '#/bodyRef'],
    [{ method: 'GET' }, '#/bodyRef'],
    [{ bodyRef: '../../etc/passwd' }, '#/bodyRef'],
    [{ bodyEncoding: 'base64' }, '#/bodyEncoding'],
  ])('has it as its only body: not with %j', async (more, pointer) => {
    const { here, json } = await uploaded('large')
    const answer = await here.create(put({ bodyRef: json.bodyRef, ...more }))
    expect(refusalOf(answer)).toEqual([422, 'invalid'])
    expect(answer.json.errors).toMatchObject([{ pointer }])
  })

  test('is signed only as far as a body may be held in memory', async () => {
    const limits = { maxBodyBytes: 2_000 }
    const here = await world({ settings: { limits } })
    here.context.refuseSigning = () => undefined
    const [small, large] = [await upload(here, 'x'.repeat(2_000)), await upload(here, 'x'.repeat(2_001))]
    expect((await here.create(put({ bodyRef: small.json.bodyRef, signing: 'hooks' }))).status).toBe(201)
    const refused = await here.create(put({ bodyRef: large.json.bodyRef, signing: 'hooks' }))
    expect([refused.status, refused.json.errors]).toMatchObject([422, [{ pointer: '#/signing' }]])
  })

  test('is not put off beyond the time for which the body is kept', async () => {
    const { here, json } = await uploaded('large')
    await here.clock.advance(1_000)
    const delayed = (delayMs: number) => here.create(put({ bodyRef: json.bodyRef, delayMs }))
    const refused = await delayed(86_399_000)
    const errors = [{ pointer: '#/bodyRef' }]
    expect([refused.status, typeOf(refused), refused.json.errors]).toMatchObject([422, 'invalid', errors])
    const words = /^bodyRef: the body is kept until 2\d{3}-.*Z, and the task is not sent before 2\d{3}-/
    expect(refused.json.detail).toMatch(words)
    expect((await delayed(86_398_999)).status).toBe(201)
  })

  test('has the time that its body needs on top of the limit to the answer', async () => {
    const here = await world({ settings: { attemptTimeoutMs: 30_000 } })
    const { json } = await upload(here, 'x'.repeat(1_000_000))
    const answer = await here.create(put({ bodyRef: json.bodyRef }))
    const small = await here.create(put({ body: 'x' }))
    expect((await recordOf(here, small))?.policy.attemptTimeoutMs).toBe(30_000)
    expect((await recordOf(here, answer))?.policy.attemptTimeoutMs).toBeGreaterThan(30_000)
  })
})

describe.each(STORES)('a body that is too large to lie with its task, over %s', (kind) => {
  const large = 'x'.repeat(1_025)

  test('is moved to the store of bodies first, and comes back whole', async () => {
    const here = await world({ kind })
    const answer = await here.create(put({ body: large, headers: { 'content-type': 'text/plain' } }))
    const [ref] = here.bodies.held.keys()
    expect(await recordOf(here, answer)).toMatchObject({
      bodyBytes: 0,
      senderData: { body: { ref, bytes: 1_025, sha256: sha256(large) } },
    })
    expect((await here.ask('GET', `/retry-tasks/${idOf(answer)}`)).json).toMatchObject({ bodyRef: 'stored' })
    expect((await here.ask('GET', `/retry-tasks/${idOf(answer)}/body`)).text).toBe(large)
    const small = await here.create(put({ body: 'x'.repeat(1_024) }))
    expect((await recordOf(here, small))?.senderData).toBeUndefined()
    expect(here.bodies.held.size).toBe(1)
  })

  test('leaves nothing behind where its task is a repeat, a conflict or one too many', async () => {
    const here = await world({ kind, ...(kind !== 'partitions' && { capacity: 2 }) })
    const task = (body: string) => put({ body, idempotencyKey: 'k' })
    expect((await here.create(task(large))).status).toBe(201)
    expect((await here.create(task(large))).status).toBe(200)
    expect((await here.create(task(`${large}y`))).status).toBe(422)
    expect(here.bodies.held.size).toBe(1)
    if (kind === 'partitions') return
    await here.create(put({ body: 'x' }))
    expect(typeOf(await here.create(put({ body: large })))).toBe('queue-full')
    expect(here.bodies.held.size).toBe(1)
  })

  test('lies with its task where that may live longer than bodies are kept', async () => {
    const here = await world({ kind })
    const ofTask = async (more: object) => recordOf(here, await here.create(put({ body: large, ...more })))
    expect(await ofTask({ delayMs: 1 })).toMatchObject({ bodyBytes: 1_025 })
    expect(await ofTask({ delayMs: 86_400_000, policyId: 'svix' })).toMatchObject({ bodyBytes: 1_025 })
    expect(here.bodies.held.size).toBe(0)
    expect(await ofTask({ delayMs: 3_600_000, policy: { totalBudgetMs: 82_800_000 } })).toMatchObject({ bodyBytes: 0 })
    expect(here.bodies.held.size).toBe(1)
  })

  test('of a batch likewise: repeats within it keep one body', async () => {
    const here = await world({ kind })
    const tasks = [
      ...Array.from({ length: 40 }, (_, i) => put({ body: `${large}${i}`, idempotencyKey: `k${i}` })),
      put({ body: `${large}0`, idempotencyKey: 'k0' }),
      put({ body: 'small' }),
    ]
    const answer = await here.ask('POST', '/retry-tasks/batch', { body: { tasks } })
    const statuses = (answer.json.outcomes as { status: number }[]).map(({ status }) => status)
    expect(statuses).toEqual([...Array(40).fill(201), 200, 201])
    expect(here.bodies.held.size).toBe(40)
  })
})

test('a store of bodies that does not answer refuses the task, of a batch those with large bodies alone', async () => {
  const here = await world()
  here.bodies.failing.set('put', Number.POSITIVE_INFINITY)
  const large = put({ body: 'x'.repeat(2_000) })
  expect(typeOf(await here.create(large))).toBe('store-unavailable')
  const answer = await here.ask('POST', '/retry-tasks/batch', { body: { tasks: [put({ body: 'x' }), large] } })
  expect((answer.json.outcomes as { status: number }[]).map(({ status }) => status)).toEqual([201, 503])
})

test('a store of tasks that fails leaves the body, since the task may be there', async () => {
  const here = await world()
  here.context.store.enqueue = () => Promise.reject(new Error('no answer'))
  expect((await here.create(put({ body: 'x'.repeat(2_000) }))).status).toBe(500)
  expect(here.bodies.held.size).toBe(1)
})

test('a body that cannot be deleted is left to its age', async () => {
  const here = await world()
  here.bodies.failing.set('delete', 1)
  const task = (body: string) => put({ body: body.repeat(2_000), idempotencyKey: 'k' })
  await here.create(task('x'))
  expect(typeOf(await here.create(task('y')))).toBe('idempotency-conflict')
  expect(here.bodies.held.size).toBe(2)
})

test.each(STORES)(
  'over %s a dead letter that is deleted takes its body with it, or leaves it to its age',
  async (kind) => {
    const here = await world({ kind, sends: true })
    const large = put({ body: 'x'.repeat(2_000) })
    const [first, second] = [await here.dead(large), await here.dead(large)]
    expect((await here.ask('DELETE', `/dead-letters/${first}`)).status).toBe(204)
    expect(here.bodies.held.size).toBe(1)
    here.bodies.failing.set('delete', 1)
    expect((await here.ask('DELETE', `/dead-letters/${second}`)).status).toBe(204)
    expect((await here.ask('GET', `/retry-tasks/${second}`)).status).toBe(404)
    expect(here.bodies.held.size).toBe(1)
    expect(here.log.filter(({ event }) => event === 'error')).toMatchObject([
      { event: 'error', what: 'body', taskId: second, message: 'delete is away' },
    ])
  },
)

describe('the body of a task', () => {
  test('that is gone, or has changed its length, is 410', async () => {
    const here = await world()
    const answer = await here.create(put({ body: 'x'.repeat(2_000) }))
    const [ref = ''] = here.bodies.held.keys()
    const ask = () => here.ask('GET', `/retry-tasks/${idOf(answer)}/body`)
    here.bodies.held.set(ref, Buffer.from('short'))
    expect(typeOf(await ask())).toBe('body-gone')
    here.bodies.held.clear()
    expect(typeOf(await ask())).toBe('body-gone')
    here.bodies.failing.set('open', 1)
    expect(typeOf(await ask())).toBe('store-unavailable')
  })

  test('that is its own goes when it will not be sent again, and one that was uploaded stays', async () => {
    const { here, json } = await uploaded('large')
    const own = await recordOf(here, await here.create(put({ body: 'x'.repeat(2_000) })))
    const shared = await recordOf(here, await here.create(put({ bodyRef: json.bodyRef })))
    const inline = await recordOf(here, await here.create(put({ body: 'x' })))
    expect(here.bodies.held.size).toBe(2)
    for (const task of [own, shared, inline, own]) await here.context.bodies?.dropBody(task ?? {})
    expect([...here.bodies.held.values()].map(String)).toEqual(['large'])
  })
})
