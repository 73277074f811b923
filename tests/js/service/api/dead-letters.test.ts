import { describe, expect, test } from 'vitest'
import { type Answered, idOf, ORDERS, STORES, setup, typeOf } from './setup.ts'

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
    for (const id of [first, alive]) {
      expect((await ask('POST', `/dead-letters/${id}/redrive`)).status).toBe(404)
      expect((await ask('DELETE', `/dead-letters/${id}`)).status).toBe(404)
      expect((await ask('GET', `/retry-tasks/${id}`)).status).toBe(200)
    }
  })

  test('one whose key the server may have forgotten goes back only where that is accepted', async () => {
    const { dead, ask, clock } = await setup({ kind })
    const taskId = await dead({ policy: { maxAttempts: 1, keyTtlMs: 60_000 } })
    await clock.advance(120_000)
    const refused = await ask('POST', `/dead-letters/${taskId}/redrive`, { body: {} })
    expect([refused.status, typeOf(refused)]).toEqual([409, 'key-expired'])
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
