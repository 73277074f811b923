/** What would show in the first outage, that a call like this one may not be stored, is told at the first such call that the core sees. */

import { expect, onTestFinished, test } from 'vitest'
import { instantiate } from '../../js/core/file.ts'
import type { RetryQueueOptions, TaskOptions } from '../../js/index.ts'
import { assemble } from '../../js/queue/assemble.ts'
import { RetryQueue } from '../../js/queue/queue.ts'
import { memoryStore } from '../../js/stores/memory.ts'
import { fakeClock, scriptedServer } from '../../js/testing.ts'
import { chunks } from './chunks.ts'
import { opened, world } from './durable-setup.ts'
import { API, closeNow, forApi, ORDERS, setup } from './setup.ts'

type Init = RequestInit & { readonly redrive?: TaskOptions }

const TENANT: Init = { method: 'POST', body: 'tea', headers: { 'x-tenant': 'a' } }
const TOKEN: Init = { method: 'POST', body: 'tea', headers: { authorization: 'Bearer secret' } }

async function reports(init: Init, options: RetryQueueOptions = {}, url = ORDERS): Promise<object[]> {
  const { queue, events, server } = await opened(options)
  expect((await queue.fetch(url, init)).status).toBe(200)
  expect(server.hits).toBe(1)
  return events.of('degraded')
}

test('a tenant header that no list lets into the store is told at the first call, once for each origin', async () => {
  const it = world()
  const { queue, events } = await it.open()
  for (const url of [ORDERS, `${API}/other`, 'https://hooks.test/a', 'https://hooks.test/b']) {
    await queue.fetch(url, TENANT)
  }
  const why = 'cannot be stored: x-tenant is on no list of headers that may be stored; '
  const remedy = 'list it in sanitize.persistHeaders, or in denyHeaders and give it by credentials'
  expect(events.of('degraded')).toEqual(
    [API, 'https://hooks.test'].map((origin) => ({
      code: 'headers_withheld',
      message: `POST ${origin === API ? ORDERS : `${origin}/a`} ${why}${remedy}`,
    })),
  )
  // the outage itself adds nothing, and the call stays in memory
  it.server.reply(503)
  const answer = queue.fetch(ORDERS, TENANT)
  await it.clock.advance(1_000)
  expect([(await answer).status, events.of('degraded')]).toMatchObject([200, { length: 2 }])
})

test('another header of the same origin is another report', async () => {
  const { queue, events } = await opened()
  await queue.fetch(ORDERS, TENANT)
  await queue.fetch(ORDERS, { ...TENANT, headers: { 'x-tenant': 'a', 'x-app-version': '7' } })
  expect(events.of('degraded').map(({ message }) => /: (.*) is on no list|: (.*) are/.exec(message)?.[1])).toEqual([
    'x-tenant',
    'x-app-version, x-tenant',
  ])
})

test('a credential without an entry is told at the first call, with its origin', async () => {
  expect(await reports(TOKEN)).toEqual([
    {
      code: 'credentials_missing',
      origin: API,
      message:
        `POST ${API}: authorization is not stored, and is sent only as long as this page or process lives; ` +
        `after that the task waits until \`credentials['${API}']\` gives it`,
    },
  ])
  expect(await reports(TOKEN, { credentials: forApi(() => ({ authorization: 'Bearer fresh' })) })).toEqual([])
})

test('a secret in a URL is told at the first call, without it', async () => {
  const [report] = await reports({ method: 'POST' }, {}, `${ORDERS}?token=s3cr3t-0123456789abcdef`)
  expect(report).toMatchObject({ code: 'url_secret', message: expect.stringContaining("'token' in its URL") })
  expect(JSON.stringify(report)).not.toContain('s3cr3t')
})

test.each<[what: string, init: Init, options?: RetryQueueOptions]>([
  ['may be stored', { ...TENANT, headers: { 'content-type': 'text/plain' } }],
  ['is of a method that the store does not take', { headers: { 'x-tenant': 'a' } }],
  ['is sensitive', { ...TENANT, redrive: { sensitive: true } }],
  ['has one attempt', { ...TENANT, redrive: { policy: { maxAttempts: 1 } } }],
  ['is not to be repeated', TENANT, { idempotency: false }],
])('nothing is told of a call that %s', async (_, init, options) => {
  expect(await reports(init, options)).toEqual([])
})

test('nothing is told by a queue without a store', async () => {
  const { queue, events } = await setup()
  await queue.fetch(ORDERS, TENANT)
  expect(events.of('degraded')).toEqual([])
})

test('S18 a core that traps over it leaves the call its answer', async () => {
  const clock = fakeClock()
  const server = scriptedServer({ clock })
  const load = async () => {
    const engine = await instantiate()
    const trap = () => {
      throw new WebAssembly.RuntimeError('unreachable')
    }
    return assemble(async () => ({ ...engine, glue: { ...engine.glue, secret_values: trap } }), chunks)
  }
  const store = memoryStore({ clock })
  const queue = new RetryQueue({ clock, fetch: server.fetch, store, principal: null, seed: 1n }, load)
  onTestFinished(() => closeNow(queue, clock))
  await queue.ready
  expect((await queue.fetch(ORDERS, TENANT)).status).toBe(200)
})
