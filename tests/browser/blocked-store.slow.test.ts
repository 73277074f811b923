/** An IndexedDB that the open transaction of another tab blocks: callers hear of an abort and of the end of `waitMs`, and nothing is sent afterwards. */

import { expect, test } from 'vitest'
import { duringTests } from '../during.ts'
import { eventually } from '../js/eventually.ts'
import { launch } from './chromium.ts'
import { newContext } from './contexts.ts'
import { labOrigin, openLab } from './lab.ts'

const DATABASE = 'redrive-default'
const END_MS = 300

const browser = duringTests(() => launch())
const origin = labOrigin()

const MODES = ['await', 'defer', 'enqueue'] as const
const ENDS = ['an abort', 'AbortSignal.timeout', 'waitMs'] as const

test.each(MODES.flatMap((mode) => ENDS.map((end) => [mode, end] as const)))('%s, %s', async (mode, end) => {
  origin.reset()
  origin.answer = () => 503
  const context = await newContext(browser)
  const page = await openLab(context, origin)
  await page.evaluate(async () => {
    await lab.open({ durable: true, principal: 'ann', warn: false }).ready
  })
  const other = await context.newPage()
  await other.goto(`${origin.url}/pages/lab.html`)
  await other.evaluate(async (name) => {
    const database = await lab.done(indexedDB.open(name))
    const stores = [...database.objectStoreNames]
    const transaction = database.transaction(stores, 'readwrite')
    // for as long as a request is under way in it
    await new Promise<void>((resolve) => {
      let isKept = true
      Object.assign(globalThis, { letGo: () => (isKept = false) })
      const again = () => {
        resolve()
        if (isKept) transaction.objectStore(stores[0] as string).count().onsuccess = again
        else database.close()
      }
      again()
    })
  }, DATABASE)

  const { told, tookMs } = await page.evaluate(
    async ({ mode, end, endMs }) => {
      const controller = new AbortController()
      const left = new Error('the user left')
      if (end === 'an abort') setTimeout(() => controller.abort(left), endMs)
      const signal = end === 'AbortSignal.timeout' ? AbortSignal.timeout(endMs) : controller.signal
      const waits = end === 'waitMs' ? { waitMs: endMs } : {}
      const init = { method: 'POST', body: 'A-1', signal }
      const began = performance.now()
      const call =
        mode === 'enqueue'
          ? lab.queue.enqueue('/api/orders', { ...init, redrive: waits })
          : lab.queue.fetch('/api/orders', { ...init, redrive: { ...waits, mode } })
      const told = await call.then(
        (given) => ('status' in given ? `${given.status}` : 'a receipt'),
        (error) => (error === left ? 'its reason' : `${error.code ?? ''} ${error.name}`),
      )
      return { told, tookMs: performance.now() - began }
    },
    { mode, end, endMs: END_MS },
  )
  // of a real browser on a busy machine: in virtual time it is 50 ms
  expect(tookMs).toBeLessThan((mode === 'defer' && end === 'waitMs' ? 2_000 : END_MS) + 1_500)
  const overdue = mode === 'enqueue' ? 'WAIT_EXCEEDED RedriveError' : '503'
  expect(told).toBe({ 'an abort': 'its reason', 'AbortSignal.timeout': '23 TimeoutError', waitMs: overdue }[end])

  const sent = origin.received.length
  await other.evaluate(() => (globalThis as unknown as { letGo(): void }).letGo())
  const depth = () => page.evaluate(() => lab.queue.list({ active: true }).then(({ tasks }) => tasks.length))
  await eventually(depth).toBe(0)
  await page.waitForTimeout(1_000)
  expect(origin.received.length).toBe(sent)
  expect(await depth()).toBe(0)
})
