/** S17 a full quota: what is new is refused with a typed error, what is held stays, is delivered and settled. */
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { eventually } from '../js/eventually.ts'
import { newWindow } from './contexts.ts'
import { labOrigin, openLab } from './lab.ts'

/** Few and large, of which each makes room as it leaves; many and small, of which none does: see js/stores/indexeddb/quota-reserve.ts. */
const HELD = [
  [5, 200_000],
  [40, 2_000],
] as const
const NEW_BYTES = 200_000
/** Room for those, and some more. */
const QUOTA_BYTES = 3_000_000

const origin = labOrigin()

/**
 * From before the first write: of what a browser gave once it asks nobody again for half a minute. The quota is as it was
 * once what is given is called.
 */
async function limitQuota(page: Page): Promise<() => Promise<void>> {
  const session = await page.context().newCDPSession(page)
  await session.send('Storage.overrideQuotaForOrigin', { origin: origin.url, quotaSize: QUOTA_BYTES })
  return () => session.detach() // the browser forgets it with the session
}

/** Fills what room there is with something of the site's own. */
async function fill(page: Page): Promise<string> {
  return page.evaluate(async () => {
    const request = indexedDB.open('of-the-site', 1)
    request.onupgradeneeded = () => request.result.createObjectStore('things')
    const database = await lab.done(request)
    let bytes = 2 ** 18
    for (let writes = 0; writes < 100; writes++) {
      const failed = await new Promise<string | null>((resolve) => {
        const transaction = database.transaction('things', 'readwrite')
        transaction.objectStore('things').put(lab.noise(bytes), writes)
        transaction.oncomplete = () => resolve(null)
        transaction.onabort = () => resolve(transaction.error?.name ?? 'aborted')
      })
      if (failed !== null && bytes < 256) return failed
      if (failed !== null) bytes /= 2
    }
    return 'never full'
  })
}

test.each(HELD)(
  'S17 with %i tasks of %i bytes: enqueue says that it is full, they stay, and are settled all the same',
  async (held, bodyBytes) => {
    const context = await newWindow()
    const page = await openLab(context, origin)
    const lift = await limitQuota(page)
    await page.evaluate(() => lab.open({ durable: true, principal: 'ann' }).ready)
    await context.setOffline(true)
    await page.evaluate(
      async ([count, bytes]) => {
        for (let at = 0; at < count; at++) {
          await lab.queue.enqueue('/api/held', { method: 'POST', body: lab.noise(bytes) })
        }
      },
      [held, bodyBytes] as const,
    )
    expect(await fill(page)).toBe('QuotaExceededError')

    const refused = await page.evaluate(async (bytes) => {
      const said = (error: { name: string; code: string; message: string }) => [error.name, error.code, error.message]
      return await lab.queue
        .enqueue('/api/new', { method: 'POST', body: lab.noise(bytes) })
        .then(() => ['stored'], said)
    }, NEW_BYTES)
    expect(refused).toEqual(['StorageFullError', 'STORAGE_FULL', expect.stringMatching(/no more room.*capacityBytes/)])
    expect(
      await page.evaluate(async () => (await lab.queue.list({ status: 'PENDING', limit: 1_000 })).tasks.length),
    ).toBe(held)

    await context.setOffline(false)
    await page.evaluate(() => lab.queue.idle())
    expect(origin.received.filter(({ path }) => path === '/api/held')).toHaveLength(held)
    expect(new Set(origin.received.map(({ body }) => body.length))).toEqual(new Set([bodyBytes]))
    expect(
      await page.evaluate(async () => (await lab.queue.list({ status: 'SUCCEEDED', limit: 1_000 })).tasks.length),
    ).toBe(held)

    await lift()
    const { durability } = await page.evaluate(() => lab.queue.enqueue('/api/new', { method: 'POST', body: 'new' }))
    expect(durability).toBe('strict')
    await eventually(() => origin.received.some(({ path }) => path === '/api/new')).toBe(true)
  },
)

test('S18 a call that fails while all is full gets its answer, and one `degraded` says why it is not kept', async () => {
  const context = await newWindow()
  const page = await openLab(context, origin)
  await limitQuota(page)
  await page.evaluate(() => lab.open({ durable: true, principal: 'ann' }).ready)
  expect(await fill(page)).toBe('QuotaExceededError')
  origin.answer = () => 503
  const statuses = await page.evaluate(async (bytes) => {
    const call = async () => {
      const response = await lab.queue.fetch('/api/order', { method: 'POST', body: lab.noise(bytes) })
      return response.status
    }
    return [await call(), await call()]
  }, NEW_BYTES)
  expect(statuses).toEqual([503, 503])
  const degraded = await page.evaluate(() => lab.degraded)
  expect(degraded.map(({ code }) => code)).toEqual(['storage_full'])
  expect(degraded[0]?.message).toMatch(/no more room/)
})
