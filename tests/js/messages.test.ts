/** S12: what errors of other people say, where the queue passes it on. */

import { expect, test } from 'vitest'
import { forApi, ORDERS, setup } from './setup.ts'

const SECRET_URL = `${ORDERS}?api_key=SEKRIT`

test.each([
  ['a URL with a secret', `request to ${SECRET_URL} failed, reason: ECONNREFUSED`],
  ['a URL with a user', 'connect to https://kim:SEKRIT@api.test/ failed'],
  ['a token', 'upstream said: Bearer SEKRITSEKRITSEKRIT'],
])('S12 a lost connection whose error quotes %s', async (_, words) => {
  const { queue, server, clock } = await setup()
  server.fail(new Error(words)).reply(200)
  const { taskId } = await queue.enqueue(SECRET_URL, { method: 'POST', body: 'tea' })
  await clock.advance(5_000)
  const { attempts } = await queue.attempts(taskId)
  const said = JSON.stringify([attempts, await queue.explain(taskId), await queue.get(taskId)])
  expect(said).not.toContain('SEKRIT')
  expect(attempts[0]?.errorMessage).toBeTruthy()
})

test('a message without a secret is passed on as it is', async () => {
  const { queue, server, clock } = await setup()
  server.fail(new Error(`request to ${ORDERS} failed, reason: ECONNREFUSED`)).reply(200)
  const { taskId } = await queue.enqueue(ORDERS, { method: 'POST', body: 'tea' })
  await clock.advance(5_000)
  const { attempts } = await queue.attempts(taskId)
  expect(attempts[0]?.errorMessage).toBe(`request to ${ORDERS} failed, reason: ECONNREFUSED`)
})

test.each<[what: string, words: string, shown: RegExp]>([
  ['of words is cut between two', 'never mind '.repeat(9_000), /^(never mind )+… \(.*\)$|^(never mind )+…$/],
  ['without a space is not shown', 'x'.repeat(100_000), /not shown/],
  ['with a token across the cut is not shown', `${'no '.repeat(330)}Bearer ${'SEKRIT'.repeat(9)}`, /not shown/],
  ['with a URL across the cut loses its secret', `${'no '.repeat(325)} ${SECRET_URL} at last`, /^[^S]*$/],
])('S12 a long message %s', async (_, words, shown) => {
  const { queue, server, clock } = await setup()
  server.fail(new Error(words)).reply(200)
  const { taskId } = await queue.enqueue(ORDERS, { method: 'POST', body: 'tea' })
  await clock.advance(5_000)
  const message = (await queue.attempts(taskId)).attempts[0]?.errorMessage ?? ''
  expect(message).toMatch(shown)
  expect(message.length).toBeLessThan(1_050)
})

const QUOTED = 'f81d4fae7dec11d0a76500a0c91e6bf6'

test.each([
  ['a header that is not stored', { headers: { cookie: `sid=${QUOTED}` } }, ORDERS],
  ['a header on no list', { headers: { 'x-acme': QUOTED } }, ORDERS],
  ['a secret of the URL', {}, `${ORDERS}?token=${QUOTED}`],
])('S12 a lost connection whose error quotes %s, which has no form of its own', async (_, init, url) => {
  const { queue, server, clock, events } = await setup()
  server.fail(new Error(`refused: ${QUOTED}`)).reply(200)
  const { taskId } = await queue.enqueue(url, { method: 'POST', body: 'tea', ...init })
  await clock.advance(5_000)
  const { attempts } = await queue.attempts(taskId)
  expect(JSON.stringify([attempts, await queue.explain(taskId), events.of('retry')])).not.toContain(QUOTED)
  expect(attempts[0]?.errorMessage).toContain('not shown')
})

test.each([
  ['a lost connection', { fetch: (): Promise<Response> => Promise.reject(new Error(`refused: ${QUOTED}`)) }],
  [
    'beforeAttempt()',
    {
      beforeAttempt: () => {
        throw new Error(`refused: ${QUOTED}`)
      },
    },
  ],
])('S12 %s whose error quotes what credentials gave', async (_, options) => {
  const { queue, clock, events } = await setup({ ...options, credentials: forApi(() => ({ 'x-pin': QUOTED })) })
  const { taskId } = await queue.enqueue(ORDERS, { method: 'POST', body: 'tea' })
  await clock.advance(60_000)
  const { attempts } = await queue.attempts(taskId)
  const said = JSON.stringify([attempts, await queue.explain(taskId), events.of('degraded'), events.of('retry')])
  expect(said).not.toContain(QUOTED)
  expect(said).toContain('not shown')
})

test('S12 a listener that fails with a secret in its words', async () => {
  const { queue, server, events } = await setup()
  queue.on('succeeded', () => {
    throw new Error(`no room for ${SECRET_URL}`)
  })
  server.reply(200)
  await queue.enqueue(ORDERS, { method: 'POST', body: 'tea' })
  await queue.idle()
  expect(events.of('degraded')).toMatchObject([
    { code: 'hook_threw', message: expect.stringContaining('threw: Error') },
  ])
  expect(JSON.stringify(events.of('degraded'))).not.toContain('SEKRIT')
})

test('S12 credentials that fail with a secret without a form in its words', async () => {
  const { queue, clock, events } = await setup({
    credentials: forApi(() => Promise.reject(new Error(`expired: ${QUOTED}`))),
  })
  await queue.enqueue(ORDERS, { method: 'POST', body: 'tea' })
  await clock.advance(1_000)
  expect(events.of('degraded')).toMatchObject([
    { code: 'credentials_failed', message: expect.stringContaining('Error') },
  ])
  expect(JSON.stringify(events.of('degraded'))).not.toContain(QUOTED)
})

test('S12 credentials that fail with the token in its words', async () => {
  const { queue, server, clock, events } = await setup({
    credentials: forApi(() => {
      throw new Error('expired: Bearer SEKRITSEKRITSEKRIT')
    }),
  })
  server.reply(503)
  await queue.enqueue(ORDERS, { method: 'POST', body: 'tea' })
  await clock.advance(1_000)
  const [first] = events.of('degraded') as readonly { readonly code: string; readonly message: string }[]
  expect(first).toMatchObject({ code: 'credentials_failed' })
  expect(first?.message).not.toContain('SEKRIT')
  expect(first?.message).toContain('may hold a secret')
})
