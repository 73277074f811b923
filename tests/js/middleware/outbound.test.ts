// Calls that a handler makes: handed over where they fail, with a 202 for its client and no branch in the handler.

import { expect, onTestFinished, test } from 'vitest'
import { DeferredError, orDefer } from '../../../js/adapters/express.ts'
import { DeferredError as ofFastify } from '../../../js/adapters/fastify.ts'
import { DeferredError as ofHono } from '../../../js/adapters/hono.ts'
import { RedriveError, RetryQueue } from '../../../js/index.ts'
import { freshFolder } from '../../folder.ts'
import { type Handler, type Mounted, type Served, type Skin, serve, skins } from './servers.ts'
import { queueIn } from './setup.ts'

/** Another service, with an answer for each request in order; then 200. */
async function upstream(...answers: readonly (readonly [number, Record<string, string>?, string?])[]) {
  const server = await serve()
  onTestFinished(() => server[Symbol.asyncDispose]())
  let hits = 0
  server.listen((_, response) => {
    const [status, headers = {}, body = '{"ok":true}'] = answers[hits++] ?? [200]
    response.writeHead(status, headers).end(body)
  })
  return { origin: server.origin, hits: () => hits }
}

async function front(skin: Skin, handler: Handler, more: Partial<Mounted> = {}): Promise<Served> {
  const server = await serve()
  onTestFinished(() => server[Symbol.asyncDispose]())
  const inbound = more.inbound && { ...more.inbound, origin: server.origin }
  server.listen(await skin.mount({ ...more, ...(inbound && { inbound }), handler }))
  return server
}

for (const skin of skins) {
  const { name } = skin

  test(`${name}: a call that is kept makes the answer a 202, and its task goes on`, async () => {
    const { queue } = queueIn(freshFolder())
    const billing = await upstream([503])
    const fetchOrDefer = orDefer(queue)
    const { origin } = await front(skin, async () => {
      const answer = await fetchOrDefer(`${billing.origin}/invoices`, { method: 'POST', body: '{}' })
      return answer.json()
    })
    const kept = await fetch(`${origin}/orders`)
    const taskId = kept.headers.get('redrive-task-id') ?? ''
    expect(kept.status).toBe(202)
    expect(kept.headers.get('redrive-durability')).toBe('strict')
    const traceId = expect.stringMatching(/^[\da-f]{32}$/)
    expect(await kept.json()).toEqual({ status: 'queued', taskId, traceId, durability: 'strict' })
    expect((await queue.result(taskId)).task.status).toBe('SUCCEEDED')
    const through = await fetch(`${origin}/orders`)
    expect([through.status, await through.json()]).toEqual([200, { ok: true }])
    expect(billing.hits()).toBe(3)
  })

  test(`${name}: where requests are kept, too, a call that was handed over is no reason to keep its request`, async () => {
    const { queue } = queueIn(freshFolder())
    const billing = await upstream([503])
    const call = () => orDefer(queue)(`${billing.origin}/invoices`, { method: 'POST', body: '{}' })
    const { origin } = await front(skin, call, { queue, inbound: { origin: '', taskUrl: (id) => `/t/${id}` } })
    const kept = await fetch(`${origin}/orders`)
    expect([kept.status, kept.headers.get('location')]).toEqual([202, `/t/${kept.headers.get('redrive-task-id')}`])
    expect((await queue.list()).tasks).toMatchObject([{ targetUrl: `${billing.origin}/invoices` }])
  })
}

test('an answer that no retry can follow is the handler’s, and so is a 202 of another service with this middleware', async () => {
  const { queue } = queueIn(freshFolder())
  const ids = { 'redrive-task-id': '0198c0de-0000-7000-8000-000000000001' }
  const other = await upstream([404], [202, ids, '{"status":"queued"}'])
  const fetchOrDefer = orDefer(queue)
  expect((await fetchOrDefer(other.origin)).status).toBe(404)
  const theirs = await fetchOrDefer(other.origin)
  expect([theirs.status, await theirs.json()]).toEqual([202, { status: 'queued' }])
  expect((await queue.list()).tasks).toEqual([])
})

test('what is thrown is one class in every entry, with a stable code', async () => {
  await using queue = new RetryQueue({ policy: { initialDelayMs: 60_000, maxDelayMs: 60_000 } })
  const other = await upstream([503])
  const error = await orDefer(queue)(other.origin).catch((thrown: unknown) => thrown)
  for (const type of [DeferredError, ofFastify, ofHono, RedriveError]) expect(error).toBeInstanceOf(type)
  const [task] = (await queue.list()).tasks
  expect(error).toMatchObject({ name: 'DeferredError', code: 'DEFERRED', durability: 'memory', taskId: task?.taskId })
})

test('options of a call are laid over those of all, and one may wait for its outcome after all', async () => {
  const { queue } = queueIn(freshFolder())
  const other = await upstream([503], [503])
  const fetchOrDefer = orDefer(queue, { tags: ['billing'] })
  const kept = await fetchOrDefer(other.origin, { redrive: { idempotencyKey: 'invoice-1' } }).catch((error) => error)
  expect(await queue.get(kept.taskId)).toMatchObject({ idempotencyKey: 'invoice-1', tags: ['billing'] })
  expect((await fetchOrDefer(other.origin, { redrive: { mode: 'await' } })).status).toBe(200)
})
