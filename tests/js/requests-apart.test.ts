/** A queue that the requests of a Worker share: each request has a core of its own, and finds it again. */

import { AsyncLocalStorage } from 'node:async_hooks'
import { expect, test } from 'vitest'
import * as engine from '../../js/queue/chunk.ts'
import { RetryQueue } from '../../js/queue/queue.ts'
import { RequestLoader } from '../../js/queue/request-loader.ts'
import { fakeClock, scriptedServer } from '../../js/testing.ts'
import { always, closeNow, NO_GATES, ORDERS, PLAIN_CURVE, stub, watch } from './setup.ts'

/** One request of a Worker; its timers go with it, and nothing of it is ever settled then. */
interface Incoming {
  isCutOff?: boolean
}

const running = new AsyncLocalStorage<Incoming>()

/** As workerd's: the code of another request may not look at it. */
class Socket {
  readonly #own = running.getStore()

  get readyState(): number {
    if (running.getStore() !== this.#own) throw new Error('Cannot perform I/O on behalf of a different request')
    return 1
  }
}

class WebSocketPair {
  readonly 0 = new Socket()
}

function setup() {
  stub({ WebSocketPair })
  const fake = fakeClock()
  const after = (ms: number, wake: () => void) => {
    const own = running.getStore()
    return fake.after(ms, () => own?.isCutOff || running.run(own as Incoming, wake))
  }
  const clock = { ...fake, after }
  const server = scriptedServer({ clock: fake })
  const options = { clock, fetch: server.fetch, seed: 1n, ...NO_GATES, policy: PLAIN_CURVE }
  const queue = new RetryQueue(
    options,
    async () => engine,
    undefined,
    (...given) => new RequestLoader(...given),
  )
  const degraded: string[] = []
  queue.on('degraded', ({ message }) => degraded.push(message))
  return { queue, server, clock: fake, degraded }
}

const as = <T>(incoming: Incoming, work: () => T): T => running.run(incoming, work)

test('S6 whatever others ask meanwhile, the calls of one request under one key are one task', async () => {
  const { queue, server, clock } = setup()
  always(server, 503, 2)
  const own = {}
  const call = (body: string) =>
    watch(queue.fetch(ORDERS, { method: 'POST', body, redrive: { idempotencyKey: 'of-one' } }))
  const first = as(own, () => call('A'))
  await as(own, () => queue.ready)
  await clock.settle()
  expect(as({}, () => queue.stats()).depth).toBe(0)
  const [second, other] = as(own, () => [call('A'), call('B')])
  await clock.settle()
  expect(other?.error).toMatchObject({ code: 'IDEMPOTENCY_CONFLICT' })
  await clock.advance(2_000)
  expect([first.value?.status, second?.value?.status, server.hits]).toEqual([200, 200, 3])
  await closeNow(queue, clock)
})

test('a request finds, reads and cancels its own tasks, and no other finds them', async () => {
  const { queue, server, clock } = setup()
  server.reply(503)
  const own = {}
  const { taskId } = await as(own, () => queue.enqueue(ORDERS))
  await clock.settle()
  expect(await as({}, () => queue.get(taskId))).toBeUndefined()
  expect(await as(own, () => queue.get(taskId))).toMatchObject({ status: 'PENDING' })
  expect(await as(own, () => queue.cancel(taskId))).toBe('cancelled')
  await clock.advance(60_000)
  expect(server.hits).toBe(1)
  await closeNow(queue, clock)
})

test('a core is kept for as long as its request waits, and no longer if that was cut off', async () => {
  const { queue, server, clock, degraded } = setup()
  const policy = { ...PLAIN_CURVE, initialDelayMs: 25_000 }
  server.reply(503).reply(503)
  const gone = {}
  const call = () => watch(queue.fetch(ORDERS, { redrive: { policy, detach: true } }))
  const [lives, cutOff] = [as({}, call), as(gone, call)]
  await clock.settle()
  Object.assign(gone, { isCutOff: true })
  for (let s = 0; s < 24; s++) {
    await clock.advance(1_000)
    await as({}, () => queue.get('any'))
  }
  expect([lives.state, cutOff.value?.redrive]).toMatchObject(['pending', { reason: 'closed' }])
  await clock.advance(1_000)
  expect([lives.value?.status, server.hits, degraded]).toEqual([200, 3, []])
  await closeNow(queue, clock)
})

test('idle() is about the calls and tasks of its own request', async () => {
  const { queue, server, clock } = setup()
  const own = {}
  const release = server.hang()
  as({}, () => void queue.fetch(ORDERS))
  server.reply(503)
  as(own, () => void queue.fetch(ORDERS))
  const idle = as(own, () => watch(queue.idle()))
  await clock.settle()
  await as({}, () => queue.fetch(ORDERS))
  await clock.settle()
  expect(idle.state).toBe('pending')
  await clock.advance(1_000)
  expect(idle.state).toBe('resolved')
  release(200)
  await closeNow(queue, clock)
})
