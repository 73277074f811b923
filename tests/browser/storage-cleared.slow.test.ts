/** The user, or the browser, clears a site's data while its queue runs; and a window whose storage ends with it. */

import { expect, test } from 'vitest'
import { duringTests } from '../during.ts'
import { eventually } from '../js/eventually.ts'
import { launch } from './chromium.ts'
import { newContext } from './contexts.ts'
import { labOrigin, openLab } from './lab.ts'

const browser = duringTests(() => launch())
const origin = labOrigin()

test('S18 storage is cleared under a running queue: told once, callers settle, new tasks are stored', async () => {
  const context = await newContext(browser)
  const page = await openLab(context, origin)
  // the first attempt fails, and the next is far away: its caller waits for a task that will be gone
  origin.answer = ({ path }) => (path === '/api/waits' ? 503 : 200)
  await page.evaluate(async () => {
    await lab.open({ durable: true, principal: 'ann', policy: { initialDelayMs: 20_000 } }).ready
    const call = lab.queue.fetch('/api/waits', { method: 'POST', body: 'waits', redrive: { waitMs: 60_000 } })
    Object.assign(globalThis, { ended: call.then(({ status }) => status).catch((error) => error.code) })
  })
  // not `waitForFunction`, which takes a promise for an answer
  await eventually(() => page.evaluate(async () => (await lab.queue.list({ status: 'PENDING' })).tasks.length)).toBe(1)
  const session = await context.newCDPSession(page)
  await session.send('Storage.clearDataForOrigin', { origin: origin.url, storageTypes: 'indexeddb' })

  const receipt = await page.evaluate(() => lab.queue.enqueue('/api/next', { method: 'POST', body: 'next' }))
  expect(receipt.durability).toBe('strict')
  const ended = await page.evaluate(() => (globalThis as unknown as { ended: Promise<unknown> }).ended)
  expect([503, 'TASK_NOT_FOUND']).toContain(ended)
  const outcome = await page.evaluate((taskId) => lab.queue.result(taskId), receipt.taskId)
  expect(outcome.task.status).toBe('SUCCEEDED')
  const degraded = await page.evaluate(() => lab.degraded)
  expect(degraded.map(({ code }) => code)).toEqual(['storage_evicted'])
  expect(degraded[0]?.message).toMatch(/cleared/)
  expect(degraded[0]?.message).toMatch(/persist|nothing|lost|gone/)
})
