import { describe, expect, test, vi } from 'vitest'
import { watch } from '../../setup.ts'
import { recordsRead } from './longest-turn.ts'
import { type Answered, faultsOf, idOf, ORDERS, refusalOf, STORES, setup, tokenFor, typeOf } from './setup.ts'

const UUID = /^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/

const idsIn = ({ json }: Answered): string[] =>
  (json.tasks as readonly { readonly taskId: string }[]).map(({ taskId }) => taskId)

describe.for(STORES)('%s', (kind) => {
  test('a task is handed over, shown, delivered and stripped', async () => {
    const { create, ask, clock, server } = await setup({ kind })
    server.reply(200)
    const tags = { invoice: '2041', empty: '' }
    // it is looked at before it is sent
    const more = { json: { b: 1, a: [2.5] }, headers: { 'X-Request-Id': 'r1' }, tags, delayMs: 500 }
    const created = await create(more)
    expect(created.status).toBe(201)
    expect(created.json).toEqual({
      taskId: expect.stringMatching(UUID),
      idempotencyKey: expect.stringMatching(/^[\da-f-]{36}$/),
      status: 'PENDING',
      nextAttemptAt: clock.now() + 500,
      durability: kind === 'sqlite' ? 'strict' : 'memory',
      deduplicated: false,
    })
    const { taskId, idempotencyKey } = created.json
    expect(created.headers.get('location')).toBe(`/retry-tasks/${taskId}`)
    expect(created.headers.get('redrive-request-id')).toMatch(/^req-[\da-f]{16}$/)
    const shown = await ask('GET', `/retry-tasks/${taskId}`)
    expect(shown.json).toMatchObject({
      ...{ taskId, idempotencyKey, tenant: null, parked: false, bodyRef: 'inline', policyId: 'default', priority: 0 },
      headers: { 'content-type': 'application/json', 'x-request-id': 'r1' },
      tags: { invoice: '2041', empty: '' },
      deadlineAt: clock.now() + 500 + 86_400_000,
    })
    await clock.advance(1_000)
    expect(server.requests).toMatchObject([{ url: ORDERS, method: 'POST', body: '{"a":[2.5],"b":1}' }])
    const { headers } = server.requests[0] as { readonly headers: Headers }
    expect(headers.get('content-type')).toBe('application/json')
    expect(headers.get('idempotency-key')).toBe(idempotencyKey)
    const ended = await ask('GET', `/retry-tasks/${taskId}`)
    expect(ended.json).toMatchObject({ status: 'SUCCEEDED', lastStatus: 200, attemptNumber: 1, nextAttemptAt: null })
    expect(ended.json).toMatchObject({ headers: {}, tags: { invoice: '2041' } })
    expect(typeOf(await ask('GET', `/retry-tasks/${taskId}/body`))).toBe('body-gone')
  })

  test('fifty equal requests at once are one task, and a later one with another body is refused', async () => {
    const { create, ask, server, clock } = await setup({ kind })
    const body = { idempotencyKey: 'invoice-2041', body: 'x', tags: { a: '1' } }
    const answers = await Promise.all(Array.from({ length: 50 }, () => create(body)))
    const statuses = answers.map(({ status }) => status).sort()
    expect(statuses).toEqual([...Array.from({ length: 49 }, () => 200), 201])
    expect(new Set(answers.map(idOf)).size).toBe(1)
    const conflict = await create({ ...body, body: 'y' })
    expect(refusalOf(conflict)).toEqual([422, 'idempotency-conflict'])
    expect(conflict.json.taskId).toBe(answers[0]?.json.taskId)
    await clock.advance(1_000)
    expect(server.hits).toBe(1)
    // the answer to a repeat is made of the task as it is now
    expect((await create(body)).json).toMatchObject({ status: 'SUCCEEDED', deduplicated: true, nextAttemptAt: null })
    // members in another order are the same request
    const raw = `{"tags":{"a":"1"},"body":"x","targetUrl":"${ORDERS}","idempotencyKey":"invoice-2041"}`
    expect((await ask('POST', '/retry-tasks', { raw })).status).toBe(200)
  })

  test('a repeat is the first task, whatever would be said to a new one', async () => {
    const { create, now, ask } = await setup({ kind, sends: false })
    await ask('POST', '/retry-policies', { body: { policyId: 'invoices', maxAttempts: 3 } })
    const body = { idempotencyKey: 'k', policyId: 'invoices' }
    const first = await create(body)
    await ask('DELETE', '/retry-policies/invoices')
    now.refusal = { rule: 'address', text: 'it is a private address' }
    expect((await create(body)).json).toMatchObject({ taskId: idOf(first), deduplicated: true })
    expect(typeOf(await create({ ...body, idempotencyKey: 'other' }))).toBe('policy-unknown')
    expect(typeOf(await create({ ...body, body: 'x' }))).toBe('policy-unknown')
  })

  test('a full store takes nothing more, but tells of what it has', async () => {
    const { create } = await setup({ kind, sends: false, capacity: 2 })
    await create({ idempotencyKey: 'a' })
    await create()
    const full = await create()
    expect([full.status, typeOf(full), full.headers.get('retry-after')]).toEqual([503, 'queue-full', '5'])
    expect((await create({ idempotencyKey: 'a' })).status).toBe(200)
  })

  test('lists go page by page, in both orders, and keep to what was asked for', async () => {
    const { create, ask, clock } = await setup({ kind, sends: false })
    const ids: string[] = []
    for (let i = 0; i < 5; i++) {
      ids.push(idOf(await create(i === 2 ? { policyId: 'svix', targetUrl: 'https://other.test/' } : {})))
      await clock.advance(1_000)
    }
    const first = await ask('GET', '/retry-tasks?limit=2')
    expect(idsIn(first)).toEqual([ids[4], ids[3]])
    const second = await ask('GET', `/retry-tasks?limit=2&cursor=${first.json.cursor}`)
    expect(idsIn(second)).toEqual([ids[2], ids[1]])
    const last = await ask('GET', `/retry-tasks?limit=2&cursor=${second.json.cursor}`)
    expect([idsIn(last), last.json.cursor]).toEqual([[ids[0]], undefined])
    expect(idsIn(await ask('GET', '/retry-tasks?order=rising'))).toEqual(ids)
    expect(idsIn(await ask('GET', '/retry-tasks?policyId=svix'))).toEqual([ids[2]])
    expect(idsIn(await ask('GET', '/retry-tasks?origin=https://other.test'))).toEqual([ids[2]])
    const from = clock.now() - 3_000
    expect(idsIn(await ask('GET', `/retry-tasks?createdAfter=${from}&createdBefore=${from + 1_000}`))).toEqual([ids[2]])
    await ask('DELETE', `/retry-tasks/${ids[0]}`)
    expect(idsIn(await ask('GET', '/retry-tasks?status=CANCELLED'))).toEqual([ids[0]])
  })

  test('tasks and dead letters are found by their key and by their tags', async () => {
    const { create, ask } = await setup({ kind, sends: false })
    const tags = { invoice: '2041', 'a b': 'c=d' }
    const cancelled = idOf(await create({ idempotencyKey: 'k', tags }))
    await ask('DELETE', `/retry-tasks/${cancelled}`)
    const again = idOf(await create({ idempotencyKey: 'k', tags: { invoice: '2041' } }))
    await create({ idempotencyKey: 'k2', tags: { invoice: '204' } })
    const found = async (query: string) => idsIn(await ask('GET', `/retry-tasks?${query}`))
    expect(await found('idempotencyKey=k')).toEqual([again, cancelled])
    expect(await found('idempotencyKey=k&status=PENDING')).toEqual([again])
    expect(await found('tags=invoice%3D2041')).toEqual([again, cancelled])
    expect(await found('tags=invoice=2041&tags=a%20b%3Dc%3Dd')).toEqual([cancelled])
    expect(await found('tags=invoice')).toEqual([])
    expect(idsIn(await ask('GET', '/dead-letters?idempotencyKey=k&tags=invoice=2041'))).toEqual([])
  })

  test('a task is found by its key, among those that its caller sees', async () => {
    const tokens = [tokenFor('a', 'acme', 'tasks:read', 'tasks:write'), tokenFor('b', 'bolt', 'tasks:read')]
    const { create, ask } = await setup({ kind, sends: false, tokens })
    const idempotencyKey = 'orders/7?a=b&c#%'
    const taskId = idOf(await create({ idempotencyKey }, { token: 'a' }))
    await create({ idempotencyKey: 'another' }, { token: 'a' })
    const find = async (query: string, token = 'a') =>
      idsIn(await ask('GET', `/retry-tasks?idempotencyKey=${encodeURIComponent(idempotencyKey)}${query}`, { token }))
    expect(await find('')).toEqual([taskId])
    expect(await find('&status=PENDING&policyId=default&limit=1')).toEqual([taskId])
    const others = 'status=CANCELLED policyId=svix origin=https://b.test createdBefore=200000000000'.split(' ')
    for (const other of others) expect(await find(`&${other}`)).toEqual([])
    expect(await find('', 'b')).toEqual([])
  })

  test('cancelling says what became of it', async () => {
    const { create, ask, clock, server } = await setup({ kind })
    const waiting = idOf(await create({ delayMs: 60_000 }))
    const cancelled = await ask('DELETE', `/retry-tasks/${waiting}`)
    expect(cancelled).toMatchObject({ status: 200, json: { outcome: 'cancelled' } })
    const again = await ask('DELETE', `/retry-tasks/${waiting}`)
    expect(again).toMatchObject({ status: 409, json: { taskId: waiting, taskStatus: 'CANCELLED' } })
    expect(typeOf(again)).toBe('already-ended')
    server.hang()
    const flying = idOf(await create())
    await clock.advance(1_000)
    expect(await ask('DELETE', `/retry-tasks/${flying}`)).toMatchObject({ status: 202, json: { outcome: 'requested' } })
    await clock.advance(1_000)
    expect((await ask('GET', `/retry-tasks/${flying}`)).json.status).toBe('CANCELLED')
  })

  test('a task is put off, and run now', async () => {
    const { create, ask, clock, server } = await setup({ kind })
    const taskId = idOf(await create({ delayMs: 60_000 }))
    const due = await ask('POST', `/retry-tasks/${taskId}/due`, { body: { delayMs: 5_000 } })
    expect(due).toMatchObject({ status: 200, json: { taskId, nextAttemptAt: clock.now() + 5_000 } })
    expect(server.hits).toBe(0)
    await ask('POST', `/retry-tasks/${taskId}/due`)
    await clock.advance(100)
    expect(server.hits).toBe(1)
    expect(refusalOf(await ask('POST', `/retry-tasks/${taskId}/due`, { body: {} }))).toEqual([409, 'not-waiting'])
  })

  test('attempts and decisions are told, oldest first', async () => {
    const { create, ask, clock, server } = await setup({ kind })
    server.reply(503).reply(503).reply(200)
    const taskId = idOf(await create())
    await clock.advance(10_000)
    const page = await ask('GET', `/retry-tasks/${taskId}/attempts?limit=2`)
    expect(page.json.attempts).toMatchObject([
      { attemptNumber: 1, responseStatus: 503 },
      { attemptNumber: 2, responseStatus: 503 },
    ])
    const rest = await ask('GET', `/retry-tasks/${taskId}/attempts?cursor=${page.json.cursor}`)
    expect(rest.json).toMatchObject({ attempts: [{ attemptNumber: 3, responseStatus: 200 }] })
    expect(rest.json.cursor).toBeUndefined()
    const { json } = await ask('GET', `/retry-tasks/${taskId}/explain`)
    const kinds = (json.decisions as readonly { readonly kind: string }[]).map((decision) => decision.kind)
    expect(kinds).toEqual(['queued', 'attempt', 'retry', 'attempt', 'retry', 'attempt', 'succeeded'])
  })

  test('the body comes back as it is sent, and no page runs', async () => {
    const { create, ask } = await setup({ kind, sends: false })
    const headers = { 'content-type': 'text/html' }
    const bytes = Buffer.from([0, 255, 60, 104, 62])
    const taskId = idOf(await create({ headers, body: bytes.toString('base64'), bodyEncoding: 'base64' }))
    const answer = await ask('GET', `/retry-tasks/${taskId}/body`)
    expect(answer.text).toBe(bytes.toString('utf8'))
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'text/html',
      'content-disposition': `attachment; filename="${taskId}"`,
      'content-security-policy': "sandbox; default-src 'none'",
      'x-content-type-options': 'nosniff',
    })
    const without = idOf(await create({ method: 'GET' }))
    expect(typeOf(await ask('GET', `/retry-tasks/${without}/body`))).toBe('not-found')
  })
})

test.for([{ delayMs: 60_000 }, { deliverAt: 60_000 }])(
  'a receipt with %o has the time that is stored',
  async (given) => {
    const { create, ask, store, clock } = await setup({ sends: false })
    const enqueue = store.enqueue.bind(store)
    vi.spyOn(store, 'enqueue').mockImplementation(async (...tasks) => {
      await clock.advance(150) // a store that has to wait for its disk
      return enqueue(...tasks)
    })
    const when = 'deliverAt' in given ? { deliverAt: clock.now() + 60_000 } : given
    const receipt = await create(when)
    const { json } = await ask('GET', `/retry-tasks/${idOf(receipt)}`)
    expect(json.nextAttemptAt).toBe(clock.now() + 60_000)
    expect(receipt.json.nextAttemptAt).toBe(json.nextAttemptAt)
  },
)

test.for([-40_000, -30_000, 30_000])(
  'a date is one on the clock of the store, which is %i ms from the one here',
  async (aheadMs) => {
    const { create, store, clock } = await setup({ sends: false })
    let asked = 0
    const now = async (): Promise<number> => {
      asked += 1
      return clock.now() + aheadMs
    }
    const enqueue = vi.spyOn(Object.assign(store, { now }), 'enqueue')
    const dates = { deliverAt: clock.now() + aheadMs + 10_000, expiresAt: clock.now() + aheadMs + 25_000 }
    const receipts = await Promise.all([create(dates), create(dates), create({ expiresAt: dates.expiresAt })])
    const stored = enqueue.mock.calls.flatMap(([tasks]) => tasks)
    expect(stored.map(({ dueInMs, deadlineInMs }) => [dueInMs, deadlineInMs])).toEqual([
      [10_000, 25_000],
      [10_000, 25_000],
      [0, 25_000],
    ])
    // that of a task which waits is the store's own
    const begun = [clock.now() + 10_000, clock.now() + 10_000, clock.now() + aheadMs]
    expect(receipts.map(({ json }) => json.nextAttemptAt)).toEqual(begun)
    // once a second at most
    expect(asked).toBe(1)
    await clock.advance(1_000)
    expect(typeOf(await create({ deliverAt: clock.now() + aheadMs - 86_400_001 }))).toBe('invalid')
    expect(asked).toBe(2)
  },
)

test.for([
  ['deliverAt', 1_800_000_000],
  ['expiresAt', 1_800_000_000],
  ['expiresAt', 99_999_999_999],
] as const)('%s in seconds is refused, and the answer says which unit it takes: %i', async ([name, seconds]) => {
  const { create, ask } = await setup({ sends: false })
  const refused = await create({ [name]: seconds })
  const fault = expect.stringMatching(new RegExp(`^#/${name}: .*millisec`))
  expect([typeOf(refused), faultsOf(refused)]).toEqual(['invalid', [fault]])
  for (const filter of ['retry-tasks?createdAfter', 'dead-letters?createdBefore', 'dead-letters/export?endedAfter']) {
    const query = await ask('GET', `/${filter}=${seconds}`)
    expect([query.status, query.json.detail]).toEqual([400, expect.stringContaining('not seconds')])
  }
  const many = await ask('POST', '/dead-letters/redrive', { body: { filter: { endedAfter: seconds } } })
  expect([many.status, String(many.json.detail)]).toEqual([422, expect.stringContaining('not seconds')])
})

test('a later delivery moves the budget along, and the key’s life with it', async () => {
  const { create, ask, clock } = await setup({ sends: false })
  const policy = { totalBudgetMs: 60_000 }
  const deliverAt = clock.now() + 3_600_000
  const { json } = await ask('GET', `/retry-tasks/${idOf(await create({ deliverAt, policy }))}`)
  expect(json).toMatchObject({ nextAttemptAt: deliverAt, deadlineAt: deliverAt + 60_000 })
  const past = await create({ deliverAt: clock.now() - 5_000 })
  expect(past.json.nextAttemptAt).toBe(clock.now())
  const long = clock.now() - 86_400_001
  for (const deliverAt of [long, 0, Math.floor(clock.now() / 1_000)]) {
    const refused = await create({ deliverAt })
    const faults = [expect.stringMatching(/^#\/deliverAt: .*millisec/)]
    expect([typeOf(refused), faultsOf(refused)]).toEqual(['invalid', faults])
  }
  expect((await create({ deliverAt: long + 1 })).status).toBe(201)
  const expiresAt = clock.now() + 1_000
  const soon = await ask('GET', `/retry-tasks/${idOf(await create({ expiresAt }))}`)
  expect(soon.json.deadlineAt).toBe(expiresAt)
})

test.for([
  ['POST', undefined, /^[\da-f-]{36}$/],
  ['PATCH', undefined, /^[\da-f-]{36}$/],
  ['DELETE', undefined, /^[\da-f-]{36}$/],
  ['PROPPATCH', undefined, /^[\da-f-]{36}$/],
  ['POST', true, null],
  ['GET', undefined, null],
  ['HEAD', undefined, null],
] as const)('%s with idempotent %s goes out with the key %s', async ([method, idempotent, key]) => {
  const { create } = await setup({ sends: false })
  const { json } = await create({ method, ...(idempotent && { idempotent }) })
  expect(json.idempotencyKey).toEqual(key === null ? null : expect.stringMatching(key))
})

test('the key of the request’s own header counts, quoted or not, and two keys are refused', async () => {
  const { create } = await setup({ sends: false })
  const first = await create({}, { headers: { 'idempotency-key': '"order 7"'.replace(' ', '-') } })
  expect(first.json.idempotencyKey).toBe('order-7')
  const same = await create({ idempotencyKey: 'order-7' }, { headers: { 'idempotency-key': 'order-7' } })
  expect(same.json).toMatchObject({ deduplicated: true, taskId: first.json.taskId })
  const two = await create({ idempotencyKey: 'order-8' }, { headers: { 'idempotency-key': 'order-7' } })
  expect(refusalOf(two)).toEqual([422, 'key-mismatch'])
  expect(refusalOf(await create({}, { headers: { 'idempotency-key': 'a b' } }))).toEqual([400, 'bad-request'])
})

test('a cancel whose answer the store lost, and that it was asked for again, is one', async () => {
  const { create, ask, context } = await setup()
  const taskId = idOf(await create({ delayMs: 60_000 }))
  const { cancel } = context.queue
  Object.assign(context.queue, {
    cancel: async (...asked: Parameters<typeof cancel>) => {
      await cancel.apply(context.queue, asked)
      return cancel.apply(context.queue, asked)
    },
  })
  expect(await ask('DELETE', `/retry-tasks/${taskId}`)).toMatchObject({ status: 200, json: { outcome: 'cancelled' } })
  expect((await ask('DELETE', `/retry-tasks/${taskId}`)).status).toBe(409)
})

test('Prefer: wait answers with the end of the task, or with what there is when the time is up', async () => {
  const { create, ask, clock, server } = await setup()
  const end = server.hang()
  const taskId = idOf(await create())
  await clock.advance(1_000)
  const waiting = watch(ask('GET', `/retry-tasks/${taskId}`, { headers: { prefer: 'respond-async, wait=10' } }))
  await clock.advance(3_000)
  expect(waiting.state).toBe('pending')
  end(200)
  await clock.settle()
  expect(waiting.value).toMatchObject({ status: 200, json: { status: 'SUCCEEDED' } })
  expect(waiting.value?.headers.get('preference-applied')).toBe('wait=10')
  const other = idOf(await create({ delayMs: 3_600_000 }))
  const vain = watch(ask('GET', `/retry-tasks/${other}`, { headers: { prefer: 'wait=999' } }))
  await clock.advance(59_000)
  expect(vain.state).toBe('pending')
  await clock.advance(1_000)
  expect(vain.value).toMatchObject({ status: 200, json: { status: 'PENDING' } })
})

test.for(['memory', 'sqlite'] as const)('many who wait look one by one, and at no task of others: %s', async (kind) => {
  const { create, ask, clock, store, server } = await setup({ kind })
  const taskId = idOf(await create({ delayMs: 1_200 }))
  const times = Array.from({ length: 300 })
  const all = times.map(() => watch(ask('GET', `/retry-tasks/${taskId}`, { headers: { prefer: 'wait=10' } })))
  await clock.settle()
  const read = recordsRead(store)
  server.reply(200)
  await create()
  await clock.advance(400)
  expect([server.hits, read.most]).toEqual([1, 0])
  server.reply(200)
  await clock.advance(2_000)
  await vi.waitFor(() => expect(all.every(({ value }) => value?.json.status === 'SUCCEEDED')).toBe(true), 20_000)
  expect(read.most).toBeLessThanOrEqual(8)
})

test('a caller who leaves ends its wait, and no timer stays', async () => {
  const { create, ask, clock } = await setup({ sends: false })
  const taskId = idOf(await create())
  const before = clock.timers
  const leaving = new AbortController()
  const waiting = watch(
    ask('GET', `/retry-tasks/${taskId}`, { headers: { prefer: 'wait=60' }, signal: leaving.signal }),
  )
  await clock.settle()
  expect(clock.timers).toBe(before + 1)
  leaving.abort()
  await clock.settle()
  expect([waiting.state, clock.timers]).toEqual(['resolved', before])
})

test('an ETag tells whether a task is as it was', async () => {
  const { create, ask, clock, server } = await setup()
  server.reply(200)
  const taskId = idOf(await create({ delayMs: 1_000 }))
  const etag = (await ask('GET', `/retry-tasks/${taskId}`)).headers.get('etag') ?? ''
  const headers = { 'if-none-match': `"x", W/${etag}` }
  expect(await ask('GET', `/retry-tasks/${taskId}`, { headers })).toMatchObject({ status: 304, text: '' })
  await clock.advance(2_000)
  expect((await ask('GET', `/retry-tasks/${taskId}`, { headers })).status).toBe(200)
})

test.for([
  ['limit=0', 'limit'],
  ['limit=1001', 'limit'],
  ['limit=', 'limit'],
  ['limit=1e2', 'limit'],
  ['limit=1&limit=2', 'limit'],
  ['status=DONE', 'status'],
  ['origin=api.test', 'origin'],
  ['origin=https://api.test/', 'origin'],
  ['cursor=1', 'cursor'],
  ['order=up', 'order'],
  ['state=PENDING', 'state'],
  ['idempotencyKey=', 'idempotencyKey'],
  ['tags=', 'tags/0'],
  ['createdAfter=-1', 'createdAfter'],
  ['createdAfter=281474976710656', 'createdAfter'],
])('a list refuses ?%s, and names it', async ([query, name]) => {
  const { ask } = await setup({ sends: false })
  const refused = await ask('GET', `/retry-tasks?${query}`)
  expect(refusalOf(refused)).toEqual([400, 'bad-request'])
  expect(refused.json.detail).toContain(`${name}:`)
})

test('what is no id is not there, and neither is an id of none', async () => {
  const { ask } = await setup({ sends: false })
  for (const id of ['x', '0199A3B4-6C58-7000-8A4F-3F1D2C9B7E60', '0199a3b4-6c58-7000-8a4f-3f1d2c9b7e60']) {
    for (const asked of ['GET ', 'DELETE ', 'POST /due', 'GET /attempts', 'GET /explain', 'GET /body']) {
      const [method = '', rest] = asked.split(' ')
      const answer = await ask(method, `/retry-tasks/${id}${rest}`)
      expect([asked, ...refusalOf(answer)]).toEqual([asked, 404, 'not-found'])
    }
  }
})

test('S16 a full store tells a tenant nothing of how many tasks others have', async () => {
  const tokens = [tokenFor('a', 'acme', 'tasks:write'), tokenFor('all', null, 'admin')]
  const here = await setup({ sends: false, capacity: 3, tokens })
  for (let n = 0; n < 3; n++) await here.create({ targetUrl: ORDERS, json: n }, { token: 'all' })
  const refused = async (token: string) => (await here.create({ targetUrl: ORDERS, json: 'x' }, { token })).json.detail
  expect(await refused('a')).toBe('the store takes no more (--capacity, --capacity-bytes); nothing was stored')
  expect(await refused('all')).toMatch(/^the store holds 3 tasks, dead letters included, and takes no more/)
})
