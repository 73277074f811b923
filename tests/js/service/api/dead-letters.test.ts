import { describe, expect, test } from 'vitest'
import { type Answered, idOf, ORDERS, refusalOf, STORES, setup, tokenFor, typeOf } from './setup.ts'

const idsIn = ({ json }: Answered): string[] =>
  (json.tasks as readonly { readonly taskId: string }[]).map(({ taskId }) => taskId)

const linesIn = ({ text }: Answered): { readonly task: { readonly taskId: string }; readonly attempts: unknown[] }[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))

describe.for(STORES)('%s', (kind) => {
  test('dead letters are listed, put back, and deleted one by one', async () => {
    const { dead, create, ask, clock, server } = await setup({ kind })
    const first = await dead()
    const second = await dead({ targetUrl: 'https://other.test/' })
    const alive = idOf(await create({ delayMs: 60_000 }))
    expect(idsIn(await ask('GET', '/dead-letters'))).toEqual([second, first])
    expect(idsIn(await ask('GET', `/dead-letters?origin=${new URL(ORDERS).origin}`))).toEqual([first])
    expect(idsIn(await ask('GET', '/dead-letters?reason=not_retryable&order=rising&limit=1'))).toEqual([first])
    expect(idsIn(await ask('GET', '/dead-letters?reason=expired'))).toEqual([])
    const back = await ask('POST', `/dead-letters/${first}/redrive`)
    expect(back).toMatchObject({ status: 200, json: { taskId: first, status: 'PENDING', attemptNumber: 0 } })
    server.reply(200)
    await clock.advance(100)
    expect((await ask('GET', `/retry-tasks/${first}`)).json.status).toBe('SUCCEEDED')
    expect((await ask('DELETE', `/dead-letters/${second}`)).status).toBe(204)
    expect((await ask('GET', `/retry-tasks/${second}`)).status).toBe(404)
    expect((await ask('POST', `/dead-letters/${alive}/redrive`)).status).toBe(404)
    for (const id of [first, alive]) {
      expect((await ask('DELETE', `/dead-letters/${id}`)).status).toBe(404)
      expect((await ask('GET', `/retry-tasks/${id}`)).status).toBe(200)
    }
  })

  test('put back twice, even at once, a dead letter goes back once, and each answer says what happened', async () => {
    const { dead, ask, clock, server } = await setup({ kind })
    const taskId = await dead()
    const redrive = () => ask('POST', `/dead-letters/${taskId}/redrive`)
    const outcomesOf = (answers: readonly Answered[]) => answers.map(({ status, json }) => [status, json.outcome])
    server.hang()
    expect(outcomesOf(await Promise.all([redrive(), redrive()])).sort()).toEqual([
      [200, 'redriven'],
      [200, 'redriven_before'],
    ])
    await clock.advance(100)
    expect((await redrive()).json).toMatchObject({ taskId, status: 'IN_FLIGHT', outcome: 'redriven_before' })
    await ask('DELETE', `/retry-tasks/${taskId}`)
    await clock.advance(100)
    expect((await redrive()).json).toMatchObject({ taskId, status: 'CANCELLED', outcome: 'redriven_before' })
    const other = await dead()
    server.reply(500)
    await ask('POST', `/dead-letters/${other}/redrive`)
    await clock.advance(100)
    // it died again, and goes back again
    expect(outcomesOf([await ask('POST', `/dead-letters/${other}/redrive`)])).toEqual([[200, 'redriven']])
  })

  test('what ended a dead letter and when stands in its list, by itself and in an export', async () => {
    const { dead, create, ask, clock, server } = await setup({ kind })
    const diedAt = clock.now()
    const answered = await dead()
    server.fail(new TypeError('the line broke'))
    const brokeAt = clock.now()
    const broken = idOf(await create({ policy: { maxAttempts: 1 } }))
    await clock.advance(1_000)
    // its lane is held until after it has expired
    server.reply(503, { 'retry-after': '30' })
    await create()
    await clock.advance(1_000)
    const expiresAt = clock.now() + 10_000
    const expired = idOf(await create({ expiresAt }))
    await clock.advance(20_000)
    const ends = [
      { taskId: answered, reason: 'not_retryable', lastStatus: 500, lastError: null, endedAt: diedAt },
      { taskId: broken, reason: 'max_attempts', lastStatus: null, lastError: 'the line broke', endedAt: brokeAt },
      { taskId: expired, reason: 'expired', attemptNumber: 0, endedAt: expiresAt + 1 },
    ]
    expect((await ask('GET', '/dead-letters?order=rising')).json.tasks).toMatchObject(ends)
    expect((await ask('GET', '/retry-tasks?order=rising&status=EXHAUSTED')).json.tasks).toMatchObject(ends)
    expect(linesIn(await ask('GET', '/dead-letters/export'))).toMatchObject(ends.map((task) => ({ task })))
    for (const end of ends) expect((await ask('GET', `/retry-tasks/${end.taskId}`)).json).toMatchObject(end)
  })

  test('a key that belongs to a dead letter says so', async () => {
    const { dead, create } = await setup({ kind })
    const taskId = await dead({ idempotencyKey: 'a' })
    const repeat = await create({ idempotencyKey: 'a', policy: { maxAttempts: 1 } })
    expect(repeat).toMatchObject({ status: 200, json: { taskId, status: 'EXHAUSTED', deduplicated: true } })
    const other = await create({ idempotencyKey: 'a', body: 'another' })
    expect(other).toMatchObject({ status: 422, json: { taskId, taskStatus: 'EXHAUSTED' } })
    expect(other.json.detail).toContain('a dead letter')
  })

  test('one whose key the server may have forgotten goes back only where that is accepted', async () => {
    const { dead, ask, clock } = await setup({ kind })
    const taskId = await dead({ policy: { maxAttempts: 1, keyTtlMs: 60_000 } })
    await clock.advance(120_000)
    expect(refusalOf(await ask('POST', `/dead-letters/${taskId}/redrive`, { body: {} }))).toEqual([409, 'key-expired'])
    const body = { acceptDuplicateRisk: true }
    expect((await ask('POST', `/dead-letters/${taskId}/redrive`, { body })).status).toBe(200)
  })

  test('an export is a line a task, with attempts, without bodies', async () => {
    const { dead, ask } = await setup({ kind })
    const ids: string[] = []
    for (let i = 0; i < 3; i++) ids.push(await dead({ body: 'the-body', ...(i === 1 && { policyId: 'svix' }) }))
    const all = await ask('GET', '/dead-letters/export')
    expect(all.headers.get('content-type')).toBe('application/x-ndjson')
    expect(linesIn(all).map(({ task }) => task.taskId)).toEqual(ids)
    expect(linesIn(all)[0]).toMatchObject({ task: { status: 'EXHAUSTED' }, attempts: [{ responseStatus: 500 }] })
    expect(all.text).not.toContain('the-body')
    const some = await ask('GET', `/dead-letters/export?taskIds=${ids[0]}&taskIds=${ids[1]}`)
    expect(linesIn(some).map(({ task }) => task.taskId)).toEqual(ids.slice(0, 2))
    expect(linesIn(await ask('GET', '/dead-letters/export?policyId=svix')).map(({ task }) => task.taskId)).toEqual([
      ids[1],
    ])
    expect((await ask('GET', '/dead-letters/export?reason=expired')).text).toBe('')
  })

  test('an export by the time of their end tells by their history', async () => {
    const { dead, ask, clock } = await setup({ kind })
    const first = await dead()
    await clock.advance(10_000)
    const between = clock.now()
    const second = await dead()
    const endedBefore = await ask('GET', `/dead-letters/export?endedBefore=${between}`)
    expect(linesIn(endedBefore).map(({ task }) => task.taskId)).toEqual([first])
    const endedAfter = await ask('GET', `/dead-letters/export?endedAfter=${between}`)
    expect(linesIn(endedAfter).map(({ task }) => task.taskId)).toEqual([second])
  })
})

test('an export that breaks off is no whole one to its reader', async () => {
  const { dead, api, store, log } = await setup()
  await dead()
  store.list = () => Promise.reject(new Error('the disk is gone'))
  const response = await api.fetch(
    new Request('http://localhost/dead-letters/export', { headers: { host: 'localhost' } }),
  )
  await expect(response.text()).rejects.toThrow()
  expect(log).toContainEqual(expect.objectContaining({ event: 'error', what: 'export', message: 'the disk is gone' }))
})

test.for([
  ['fewer tasks than twice its quota', { capacity: 2 }, 200],
  ['twice as many as its quota', { capacity: 1 }, 429],
  ['fewer bytes', { capacityBytes: 2 }, 200],
  ['twice the bytes of its quota', { capacityBytes: 1 }, 429],
  ['no quota', undefined, 200],
] as const)(
  'S17 a dead letter with a callback goes back where there is room for one more: its tenant has %s',
  async ([, quota, status]) => {
    const { ask, dead, create, now, store } = await setup({
      tokens: [tokenFor('ann', 'ann', 'tasks:write', 'tasks:read'), tokenFor('root', null, 'admin')],
    })
    const callback = { url: ORDERS }
    const told = await dead({ json: 1, idempotent: true, callback }, { token: 'ann' })
    await create({ delayMs: 60_000, json: 2 }, { token: 'ann' })
    now.quota = quota
    const back = await ask('POST', `/dead-letters/${told}/redrive`, { token: 'root' })
    expect([back.status, status === 429 && typeOf(back)]).toEqual([status, status === 429 && 'quota-exceeded'])
    expect((await store.get(told))?.status === 'EXHAUSTED').toBe(status === 429)
  },
)
