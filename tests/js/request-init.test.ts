import { expect, test } from 'vitest'
import { opened } from './durable-setup.ts'
import { ORDERS, setup } from './setup.ts'

/** Options of fetch that a platform reads and a Request does not show. */
const EXTRA = {
  cache: 'no-store',
  credentials: 'include',
  mode: 'cors',
  referrerPolicy: 'no-referrer',
  integrity: '',
  redirect: 'error',
  dispatcher: { dispatch() {} },
  next: { revalidate: 60 },
  cf: { cacheTtl: 5 },
  priority: 'high',
}

type Sent = Record<string, unknown>

/** A queue whose server fails twice, and keeps the options that fetch was given. */
async function setupInits() {
  const sent: Sent[] = []
  const fetch = async (_: RequestInfo | URL, init: RequestInit = {}) => {
    sent.push(init as Sent)
    return new Response(null, { status: sent.length < 3 ? 503 : 200 })
  }
  return { ...(await setup({ fetch })), sent }
}

test.each<[what: string, input: () => RequestInfo]>([
  ['a Request', () => new Request(ORDERS)],
  ['a Request with a body', () => new Request(ORDERS, { method: 'POST', body: 'x' })],
  ['a URL', () => ORDERS],
])('init beside %s reaches fetch on every attempt', async (_what, input) => {
  const { queue, clock, sent } = await setupInits()
  const answer = queue.fetch(input(), { ...EXTRA, headers: { 'x-own': 'a' } } as RequestInit)
  await clock.advance(3_000)
  expect((await answer).status).toBe(200)
  expect(sent).toHaveLength(3)
  for (const init of sent) expect(init).toMatchObject(EXTRA)
})

test('a Request keeps what init leaves undefined, and its own cf', async () => {
  const { queue, clock, sent } = await setupInits()
  const request = new Request(ORDERS, { credentials: 'omit', cache: 'no-store' })
  Object.defineProperty(Request.prototype, 'cf', { value: { cacheTtl: 7 }, configurable: true })
  try {
    const answer = queue.fetch(request, { credentials: undefined, cf: undefined } as unknown as RequestInit)
    await clock.advance(3_000)
    await answer
  } finally {
    delete (Request.prototype as { cf?: unknown }).cf
  }
  for (const init of sent) expect(init).toMatchObject({ credentials: 'omit', cache: 'no-store', cf: { cacheTtl: 7 } })
})

test('a stored task is sent by its own process with the init that is not stored', async () => {
  const sent: Sent[] = []
  const fetch = async (_: RequestInfo | URL, init: RequestInit = {}) => {
    sent.push(init as Sent)
    return new Response(null, { status: sent.length < 3 ? 503 : 200 })
  }
  const { clock, store, queue } = await opened({ fetch })
  const { taskId } = await queue.enqueue(new Request(ORDERS, { method: 'POST' }), { ...EXTRA } as RequestInit)
  const record = await store.get(taskId)
  expect(record).toBeDefined()
  expect(JSON.stringify(record)).not.toMatch(/dispatch|revalidate|cacheTtl|priority":"high/)
  await clock.advance(10_000)
  expect(sent).toHaveLength(3)
  for (const init of sent) expect(init).toMatchObject(EXTRA)
})
