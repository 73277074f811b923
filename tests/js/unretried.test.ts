/** A call that is not tried again says why, once for each cause, with the option that changes it. */

import { expect, test } from 'vitest'
import type { RetryQueueOptions, TaskOptions } from '../../js/index.ts'
import { setup as axiosSetup } from './axios-setup.ts'
import { always, markOf, ORDERS, setup, stub } from './setup.ts'

type Init = RequestInit & { readonly redrive?: TaskOptions }

const POST = { method: 'POST', body: 'tea' } as const
const asPage = () => {
  stub({ location: new URL('https://app.test/') })
}

const once: readonly (readonly [reason: string, queue: RetryQueueOptions, init: Init, remedy: string])[] = [
  ['key_origin_missing', {}, POST, 'idempotency.origins'],
  ['body_too_large', { maxBodyBytes: 2 }, POST, 'maxBodyBytes'],
  ['not_idempotent', { idempotency: false }, POST, 'idempotency.methods'],
  ['not_idempotent', { idempotency: { methods: [] } }, { method: 'PATCH' }, 'redrive.idempotencyKey'],
]

test.each(once)(
  '%s: an answer and an error have the reason, and one `degraded` the remedy',
  async (reason, options, init, remedy) => {
    asPage()
    const { queue, server, events } = await setup(options, 503, 'lost', 503)
    expect(markOf(await queue.fetch(ORDERS, init))).toEqual({ reason })
    expect(markOf(await queue.fetch(ORDERS, init).catch((error) => error))).toEqual({ reason })
    expect(markOf(await queue.fetch(ORDERS, init))).toEqual({ reason })
    expect(events.of('degraded')).toEqual([{ code: reason, message: expect.stringContaining(remedy) }])
    expect(server.hits).toBe(3)
  },
)

test.each(once)('%s: a success and a refusal have no reason', async (_, options, init) => {
  asPage()
  const { queue } = await setup(options, 200, 404)
  expect(markOf(await queue.fetch(ORDERS, init))).toBeUndefined()
  expect(markOf(await queue.fetch(ORDERS, init))).toBeUndefined()
})

test('a call that is to have one attempt has no reason: it was asked for', async () => {
  const { queue, events } = await setup({ idempotency: false }, 503)
  const init: Init = { ...POST, redrive: { policy: { maxAttempts: 1 } } }
  expect(markOf(await queue.fetch(ORDERS, init))).toBeUndefined()
  expect(events.of('degraded')).toEqual([])
})

test('a queue that is full says so on the answer', async () => {
  const { queue, server } = await setup({ capacity: 1 })
  queue.pause()
  await queue.enqueue(ORDERS, POST)
  server.reply(503)
  expect(markOf(await queue.fetch(ORDERS, POST))).toEqual({ reason: 'queue_full' })
})

test.each<[string, RequestInit]>([
  ['no-cors', { mode: 'no-cors' }],
  ['keepalive', { keepalive: true }],
])('a %s request is told of once; not with `redrive: false`', async (what, init) => {
  const { queue, server, events } = await setup()
  always(server, 200)
  await queue.fetch(ORDERS, { ...init, redrive: false })
  expect(events.of('degraded')).toEqual([])
  await queue.fetch(ORDERS, init)
  await queue.fetch(new Request(ORDERS, init))
  expect(events.of('degraded')).toEqual([{ code: 'not_replayable', message: expect.stringContaining(what) }])
})

test('an Axios call to another origin of a page that names none says why it is sent once', async () => {
  asPage()
  const { server, queue, api } = await axiosSetup('http', {})
  const degraded: string[] = []
  queue.on('degraded', ({ code }) => void degraded.push(code))
  server.reply(503)
  const error = await api.post('/orders', 'tea').catch((thrown: unknown) => thrown)
  expect(markOf(error)).toEqual({ reason: 'key_origin_missing' })
  expect(degraded).toEqual(['key_origin_missing'])
})
