/** S12: what errors of other people say, where the queue passes it on. */

import { expect, test } from 'vitest'
import { ORDERS, setup } from './setup.ts'

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

test('S12 credentials() that fails with the token in its words', async () => {
  const { queue, server, clock, events } = await setup({
    credentials: () => {
      throw new Error('expired: Bearer SEKRITSEKRITSEKRIT')
    },
  })
  server.reply(503)
  await queue.enqueue(ORDERS, { method: 'POST', body: 'tea' })
  await clock.advance(1_000)
  const [first] = events.of('degraded') as readonly { readonly code: string; readonly message: string }[]
  expect(first).toMatchObject({ code: 'credentials_failed' })
  expect(first?.message).not.toContain('SEKRIT')
  expect(first?.message).toContain('may hold a secret')
})
