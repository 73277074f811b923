/** The transport under a real queue: what becomes of tasks whose target is refused, redirected, late or long. */

import { describe, expect, onTestFinished, test } from 'vitest'
import { RetryQueue } from '../../../js/index.ts'
import { type Guard, makeGuard } from '../../../js/service/guard.ts'
import { memoryStore } from '../../../js/stores/memory.ts'
import { eventually } from '../eventually.ts'
import { Events, NO_GATES } from '../setup.ts'
import { NAME, resolver, sending, serve } from './sending.ts'

async function queueOver(port: number, guard?: Guard) {
  const transport = sending(port, guard ? { guard } : {})
  const events = new Events()
  const queue = new RetryQueue({
    store: memoryStore(),
    fetch: (input, init) => transport.send('acme', String(input), init ?? {}),
    policy: { jitterType: 'NONE', initialDelayMs: 1, maxAttempts: 3 },
    seed: 1n,
    ...NO_GATES,
  })
  events.listen(queue)
  onTestFinished(() => queue.close({ drainMs: 0 }))
  await queue.ready
  return { queue, events, transport }
}

const POST = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"sku":1}' }

describe('a queue over the transport', () => {
  test.each([
    ['http://169.254.169.254/latest/meta-data/', 307],
    ['http://127.0.0.1:1/', 308],
    ['http://localhost/', 302],
    ['file:///etc/passwd', 307],
    ['//10.0.0.1/', 307],
  ])('does not follow a redirect to %s', async (location, status) => {
    const server = await serve((_, response) => response.writeHead(status, { location }).end())
    const { queue, events, transport } = await queueOver(server.port)
    await queue.enqueue(`http://${NAME}:${server.port}/`, { ...POST, redrive: { idempotencyKey: 'k-2' } })
    await eventually(() => events.of('exhausted').length).toBe(1)
    expect(server.accepted).toBe(1)
    expect(transport.rules).toEqual([])
  })

  test('asks the guard before each hop of a redirect that it follows', async () => {
    const server = await serve((request, response) => {
      if (request.url === '/old') response.writeHead(307, { location: '/new' }).end()
      else response.end()
    })
    const own = makeGuard({
      allowHttp: true,
      allowPrivate: ['127.0.0.0/8'],
      targets: [`:${server.port}`],
      lookup: resolver(['127.0.0.1']),
    })
    const checked: string[] = []
    const guard: Guard = {
      check(url) {
        checked.push(new URL(url).pathname)
        return own.check(url)
      },
      resolve: (hostname) => own.resolve(hostname),
      refuseAddress: (hostname, address) => own.refuseAddress(hostname, address),
    }
    const { queue, events } = await queueOver(server.port, guard)
    await queue.enqueue(`http://${NAME}:${server.port}/old`, { ...POST, redrive: { idempotencyKey: 'k-3' } })
    await eventually(() => events.of('succeeded').length).toBe(1)
    expect(checked).toEqual(['/old', '/new'])
  })
})
