/** The scripted server is part of the package: people test with it. */

import { expect, test } from 'vitest'
import { fakeClock, scriptedServer } from '../../js/testing.ts'
import { ORDERS, watch } from './setup.ts'

test('answers come in the order of the script, then 200', async () => {
  const server = scriptedServer()
  const lost = new Error('lost')
  server.reply(503, { 'retry-after': '1' }, 'busy').fail(lost).reply(404)
  const first = await server.fetch(ORDERS)
  expect([first.status, first.headers.get('retry-after'), await first.text()]).toEqual([503, '1', 'busy'])
  await expect(server.fetch(ORDERS)).rejects.toBe(lost)
  expect((await server.fetch(ORDERS)).status).toBe(404)
  expect((await server.fetch(ORDERS)).status).toBe(200)
  expect(server.hits).toBe(4)
})

test('it remembers what it saw, and when', async () => {
  const clock = fakeClock()
  const server = scriptedServer({ clock })
  await clock.advance(5)
  await server.fetch(ORDERS, { method: 'POST', body: 'x', headers: { 'x-own': 'a' } })
  expect(server.requests).toMatchObject([{ method: 'POST', url: ORDERS, body: 'x', at: clock.now() }])
  expect(server.requests[0]?.headers.get('x-own')).toBe('a')
})

test('a hanging request waits for its release, or for its abort', async () => {
  const clock = fakeClock()
  const server = scriptedServer({ clock })
  const release = server.hang()
  server.hang()
  const first = watch(server.fetch(ORDERS))
  const controller = new AbortController()
  const second = watch(server.fetch(ORDERS, { signal: controller.signal }))
  await clock.settle()
  expect([first.state, second.state]).toEqual(['pending', 'pending'])
  release(204, { 'x-own': 'a' })
  controller.abort()
  await clock.settle()
  expect(first.value?.status).toBe(204)
  expect(second.error).toMatchObject({ name: 'AbortError' })
  expect(server.maxInFlight).toBe(2)
})

test('a signal that is aborted already reaches no server', async () => {
  const server = scriptedServer()
  await expect(server.fetch(ORDERS, { signal: AbortSignal.abort() })).rejects.toMatchObject({ name: 'AbortError' })
  expect(server.hits).toBe(0)
})

test('an abort ends a request whose body is still being read', async () => {
  const server = scriptedServer()
  server.hang()
  for (const body of ['hangs', 'is answered']) {
    const controller = new AbortController()
    const call = server.fetch(ORDERS, { method: 'POST', body, signal: controller.signal })
    controller.abort()
    await expect(call).rejects.toMatchObject({ name: 'AbortError' })
  }
})

test('an answer that cannot be is refused where it is written, and is no lost connection', () => {
  const server = scriptedServer()
  expect(() => server.reply(204, {}, 'text')).toThrow(TypeError)
  expect(() => server.reply(99)).toThrow(RangeError)
})
