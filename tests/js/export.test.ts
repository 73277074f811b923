import { expect, test } from 'vitest'
import { RetryQueue } from '../../js/queue/queue.ts'
import { fakeClock } from '../../js/testing.ts'
import { closeNow, ORDERS, setup } from './setup.ts'

test('S12 the export of the dead letters has their ids, reasons and attempts, and neither bodies nor credentials', async () => {
  const { queue, clock } = await setup({ policy: { maxAttempts: 2 } }, 503, 503)
  const headers = { authorization: 'Bearer hush' }
  const { taskId } = await queue.enqueue(`${ORDERS}?token=hush`, { method: 'POST', body: 'two apples', headers })
  await clock.advance(60_000)
  const text = await queue.deadLetters.export()
  expect(() => JSON.parse(text)).not.toThrow()
  for (const said of [taskId, 'max_attempts', 'authorization', '503']) expect(text).toContain(said)
  for (const secret of ['hush', 'two apples']) expect(text).not.toContain(secret)
})

test('a queue that never failed exports no dead letters', async () => {
  const { queue } = await setup()
  const text = await queue.deadLetters.export()
  expect(() => JSON.parse(text)).not.toThrow()
  expect(text).not.toContain('taskId')
})

test('S18 without a core the export says why there is none', async () => {
  const clock = fakeClock()
  const queue = new RetryQueue({ clock }, () => Promise.reject(new TypeError('Failed to fetch')))
  await expect(queue.deadLetters.export()).rejects.toMatchObject({ code: 'WASM_UNAVAILABLE' })
  await closeNow(queue, clock)
})
