// Requests whose handler has failed, in each framework, on real sockets and a real file.
import { expect, test } from 'vitest'
import { bySize } from '../../size.ts'
import { skins } from './servers.ts'
import { bytesIn, failing, refused, service } from './setup.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const TRACEPARENT = `00-${TRACE}-00f067aa0ba902b7-01`
const CROWD = bySize(50, 1_000)
const json = { 'content-type': 'application/json' }
/** Clients were checked before the handler. */
const KNOWN = { authenticated: () => true }

for (const skin of skins) {
  const { name } = skin

  test(`${name}: a failed request gets a 202 with its trace, and is sent again byte for byte`, async () => {
    const taskUrl = (taskId: string) => `/tasks/${taskId}`
    const { origin, queue, seen } = await service(skin, { handler: failing(2), inbound: { taskUrl } })
    const body = '{ "sku": "A-1",\n  "quantity": 1.0 }'
    const headers = { ...json, traceparent: TRACEPARENT, 'idempotency-key': 'order-1' }
    const answer = await fetch(`${origin}/orders?draft=no`, { method: 'POST', headers, body })
    const taskId = answer.headers.get('redrive-task-id') ?? ''
    expect(answer.status).toBe(202)
    expect(await answer.json()).toEqual({ status: 'queued', taskId, traceId: TRACE, durability: 'strict' })
    expect(answer.headers.get('location')).toBe(`/tasks/${taskId}`)
    expect(answer.headers.get('cache-control')).toBe('no-store')
    const { task } = await queue.result(taskId)
    expect(task).toMatchObject({ status: 'SUCCEEDED', attemptNumber: 3, targetUrl: `${origin}/orders?draft=no` })
    expect(seen.map(({ method, target, body: parsed }) => [method, target, parsed])).toEqual(
      Array(3).fill(['POST', '/orders?draft=no', { sku: 'A-1', quantity: 1 }]),
    )
    const [first, ...repeats] = seen.map(({ headers }) => headers)
    expect(first?.get('redrive-replay')).toBeNull()
    for (const [i, repeat] of repeats.entries()) {
      expect(repeat.get('content-length')).toBe(String(body.length))
      expect(repeat.get('idempotency-key')).toBe('order-1')
      expect(repeat.get('traceparent')).toBe(TRACEPARENT)
      expect(repeat.get('redrive-replay')).toMatch(new RegExp(`^${taskId}\\.${i + 2}\\.[\\da-f]{64}$`))
    }
  })

  test(`${name}: a target that is itself and always fails is called maxAttempts times, the client's request included`, async () => {
    const options = { policy: { maxAttempts: 4 } }
    const { origin, queue, seen } = await service(skin, { handler: failing(1_000), options })
    const answer = await fetch(`${origin}/orders/7`, { method: 'PUT', headers: json, body: '{}' })
    expect(answer.status).toBe(202)
    const { task } = await queue.result(answer.headers.get('redrive-task-id') ?? '')
    expect(task).toMatchObject({ status: 'EXHAUSTED', reason: 'max_attempts', attemptNumber: 4 })
    expect(seen).toHaveLength(4)
    expect((await queue.list()).tasks).toHaveLength(1)
    expect(queue.stats().depth).toBe(0)
  })

  test(`${name}: without traceparent the trace is the framework's id of the request, where it has one`, async () => {
    const { origin } = await service(skin, { handler: failing(1) })
    const answer = await fetch(`${origin}/orders`)
    const { traceId } = (await answer.json()) as { traceId: string }
    const shape = { express: /^[\da-f]{32}$/, fastify: /^req-1$/, hono: /^[\da-f-]{36}$/ }[name]
    expect(traceId).toMatch(shape ?? /$^/)
  })

  test(`S5 ${name}: a client's key is where its handler looks for it, also where the queue has another header`, async () => {
    const options = { idempotency: { header: 'X-Request-Key' } }
    const { origin, queue, seen } = await service(skin, { handler: failing(1), options })
    const headers = { ...json, 'idempotency-key': 'order-1' }
    const answer = await fetch(`${origin}/orders`, { method: 'POST', headers, body: '{}' })
    await queue.result(answer.headers.get('redrive-task-id') ?? '')
    expect(seen.map((each) => each.headers.get('idempotency-key'))).toEqual(['order-1', 'order-1'])
  })

  test(`${name}: a HEAD is kept, and answered without a body`, async () => {
    const { origin, queue, seen } = await service(skin, { handler: failing(1) })
    const answer = await fetch(`${origin}/report`, { method: 'HEAD' })
    expect([answer.status, await answer.text()]).toEqual([202, ''])
    const { task } = await queue.result(answer.headers.get('redrive-task-id') ?? '')
    expect(task.status).toBe('SUCCEEDED')
    expect(seen.map(({ method }) => method)).toEqual(['HEAD', 'HEAD'])
  })

  test(`${name}: an unsafe request without its client's key is not kept`, async () => {
    const { origin, queue, seen } = await service(skin, { handler: failing(1) })
    const answer = await fetch(`${origin}/orders`, { method: 'POST', headers: json, body: '{}' })
    expect(answer.status).toBe(500)
    expect((await queue.list()).tasks).toEqual([])
    expect(seen).toHaveLength(1)
  })

  test(`${name}: an error that will not pass goes on`, async () => {
    const { origin, queue } = await service(skin, { handler: failing(1, () => new Error('a bug')) })
    expect((await fetch(`${origin}/orders`)).status).toBe(500)
    expect((await queue.list()).tasks).toEqual([])
  })

  test(`${name}: match decides in place of the default`, async () => {
    const match = (error: unknown, { method, target }: { readonly method: string; readonly target: string }) =>
      (error as Error).message === 'a bug' && method === 'GET' && target === '/orders?page=2'
    const { origin, queue } = await service(skin, { handler: failing(3, () => new Error('a bug')), inbound: { match } })
    expect((await fetch(`${origin}/orders`)).status).toBe(500)
    const answer = await fetch(`${origin}/orders?page=2`)
    expect(answer.status).toBe(202)
    // its repeat fails once more with what the error handler makes a 500, and goes on
    const { task } = await queue.result(answer.headers.get('redrive-task-id') ?? '')
    expect(task).toMatchObject({ status: 'SUCCEEDED', attemptNumber: 3 })
  })

  test(`S12 ${name}: a user's session is in no byte of the store, is not used again, and the task is parked`, async () => {
    const { origin, queue, seen, at, degraded } = await service(skin, { handler: failing(1), inbound: KNOWN })
    const headers = { ...json, authorization: 'Bearer hush-token', cookie: 'sid=hush-cookie', 'idempotency-key': 'k-1' }
    const answer = await fetch(`${origin}/orders`, { method: 'POST', headers, body: '{"sku":"A-1"}' })
    const taskId = answer.headers.get('redrive-task-id') ?? ''
    expect(answer.status).toBe(202)
    await expect.poll(async () => (await queue.explain(taskId)).at(-1)?.data?.gate, { timeout: 20_000 }).toBe('parked')
    expect(await queue.get(taskId)).toMatchObject({ status: 'PENDING', withheldHeaders: ['authorization', 'cookie'] })
    expect(seen).toHaveLength(1)
    expect(degraded.map(({ code }) => code)).toContain('credentials_missing')
    expect(bytesIn(at).includes('A-1')).toBe(true)
    expect(bytesIn(at).includes('hush')).toBe(false)
  })

  test(`${name}: the service's own credentials send it`, async () => {
    const own = { authorization: 'Bearer service', cookie: '' }
    const { origin, queue, seen, at } = await service(skin, {
      handler: failing(1),
      inbound: KNOWN,
      more: (origin) => ({ credentials: { [origin]: () => own } }),
    })
    const headers = { authorization: 'Bearer hush-token', cookie: 'sid=hush-cookie' }
    const answer = await fetch(`${origin}/orders`, { headers })
    const { task } = await queue.result(answer.headers.get('redrive-task-id') ?? '')
    expect(task.status).toBe('SUCCEEDED')
    expect(seen.map((each) => each.headers.get('authorization'))).toEqual(['Bearer hush-token', 'Bearer service'])
    expect(bytesIn(at).includes('hush')).toBe(false)
  })

  test(`${name}: ${CROWD} requests at once are as many tasks, each done once`, async () => {
    const failed = new Set<string>()
    const { origin, queue, seen } = await service(skin, {
      handler: ({ target }) => {
        if (failed.has(target)) return {}
        failed.add(target)
        throw refused()
      },
      // Node accepts one connection each time round its loop: those of the repeats come after the whole crowd's
      options: { concurrency: 50, policy: { attemptTimeoutMs: 60_000 } },
    })
    const numbers = Array.from({ length: CROWD }, (_, i) => i)
    const answers = await Promise.all(
      numbers.map(async (i) => {
        const answer = await fetch(`${origin}/orders/${i}`, { method: 'PUT', headers: json, body: `{"i":${i}}` })
        await answer.text()
        return answer
      }),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]))
    expect(new Set(answers.map(({ headers }) => headers.get('redrive-task-id'))).size).toBe(CROWD)
    await queue.idle()
    expect(queue.stats().succeeded).toBe(CROWD)
    const bodies = seen.map(({ target, body }) => `${target} ${JSON.stringify(body)}`).toSorted()
    const twice = numbers.flatMap((i) => Array(2).fill(`/orders/${i} {"i":${i}}`)).toSorted()
    expect(bodies).toEqual(twice)
  })
}
