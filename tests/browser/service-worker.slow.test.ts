/** A service worker in a real Chromium: when it is woken, what it sends, and in whose name. */

import type { BrowserContext, Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { duringTests } from '../during.ts'
import { eventually } from '../js/eventually.ts'
import { launch } from './chromium.ts'
import { newWindow } from './contexts.ts'
import { goOffline, leave, newDevice, store, syncSite, type Visit, visit } from './sync-site.ts'

const site = syncSite()

const browser = duringTests(() => launch())
declare global {
  var endSlowly: () => void
  var taken: number
}

const bodies = () => site.seen.map(({ body }) => body).sort()

test('the browser itself wakes it, once it has been asked and the page is gone', async () => {
  const context = await newWindow()
  site.answer = { status: 503 } // until the page is gone
  await leave(context, site, ['a'], { asks: true, options: { policy: { maxAttempts: 50, maxDelayMs: 500 } } })
  site.answer = { status: 200 }
  await context.newPage() // a browser without a window may end
  await eventually(() => site.seen.length).toBeGreaterThan(0)
  const sent = site.seen.length
  await eventually(() => site.syncs.at(-1)?.ended).toBe('well')
  expect(site.seen.slice(0, sent).map(({ body }) => body)).toEqual(['a'])
})

describe('a page that ends slowly', () => {
  interface Slowly {
    isGone(): Promise<void>
    end(): Promise<void>
  }
  /** Another page takes what `page` holds as soon as that has ended, and keeps it for the while that the browser would need. */
  async function endingSlowly(context: BrowserContext): Promise<(page: Page) => Promise<Slowly>> {
    const slow = await context.newPage()
    await slow.goto(`${site.url}/pages/sync-worker.js`)
    const count = (which: 'held' | 'pending') => () =>
      slow.evaluate(async (which) => (await navigator.locks.query())[which]?.length ?? 0, which)
    return async (page) => {
      const names = await page.evaluate(
        async () => (await navigator.locks.query()).held?.map(({ name }) => name ?? '') ?? [],
      )
      await slow.evaluate((all) => {
        const lasting = new Promise<void>((release) => {
          globalThis.endSlowly = release
        })
        globalThis.taken = 0
        const take = () => {
          globalThis.taken++
          return lasting
        }
        for (const name of all) void navigator.locks.request(name, take)
      }, names)
      // one that the page held for a moment only is here already
      await eventually(async () => (await count('pending')()) + (await slow.evaluate(() => globalThis.taken))).toBe(
        names.length,
      )
      return {
        isGone: async () => {
          await eventually(count('pending')).toBe(0)
          await eventually(count('held')).toBe(names.length)
        },
        end: () => slow.evaluate(() => globalThis.endSlowly()),
      }
    }
  }
  /** Longer than a sync stays for nothing. */
  async function staysFor(seen: readonly string[]): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, 5_000))
    expect(bodies()).toEqual(seen)
    expect(site.syncs).toEqual([])
  }

  test('L2 still holds the lead: the sync waits for it, also with its last chance', async () => {
    const { context, devtools } = await newDevice(browser, site)
    const ending = await endingSlowly(context)
    const page = await visit(context, site)
    await goOffline(context, page)
    await store(page, 'a')
    const slowly = await ending(page)
    await page.close()
    await slowly.isGone()
    await context.setOffline(false)
    await devtools.startSync({ lastChance: true })
    await staysFor([])
    await slowly.end()
    await eventually(bodies).toEqual(['a'])
    await eventually(() => site.syncs.at(-1)?.ended).toBe('well')
  })

  test('L2 L3 still holds the lease of its attempt: the sync waits for that, too', async () => {
    const { context, devtools } = await newDevice(browser, site)
    const ending = await endingSlowly(context)
    site.answer = 'never'
    const page = await visit(context, site)
    await store(page, 'a')
    await eventually(bodies).toEqual(['a'])
    const slowly = await ending(page)
    const crashed = page.waitForEvent('crash')
    page.goto('chrome://crash').catch(() => {}) // it has no end
    await crashed
    await slowly.isGone()
    site.answer = { status: 200 }
    await devtools.startSync()
    await staysFor(['a'])
    await slowly.end()
    await eventually(bodies).toEqual(['a', 'a'])
    await eventually(() => site.syncs.at(-1)?.ended).toBe('well')
    expect(new Set(site.seen.map(({ headers }) => headers['idempotency-key'])).size).toBe(1)
  })
})

describe('what it needs for itself', () => {
  test('its own credentials: a page that is gone has taken its own along', async () => {
    const { context, devtools } = await newDevice(browser, site)
    const page = await visit(context, site, { worker: 'sync-worker.js?token=fresh' })
    await goOffline(context, page)
    await store(page, 'a', { authorization: 'Bearer of-the-page' })
    await page.close()
    await context.setOffline(false)
    expect(await devtools.sync()).toBe('well')
    expect(site.seen.map(({ headers }) => headers.authorization)).toEqual(['Bearer fresh'])
  })

  test("S18 'wasm-unsafe-eval' in its own policy: without it the sync fails with the directive, and a page delivers", async () => {
    const { context, devtools } = await newDevice(browser, site)
    const csp = encodeURIComponent("script-src 'self'")
    await leave(context, site, ['a'], { worker: `sync-worker.js?csp=${csp}` })
    expect(await devtools.sync()).toMatch(/^SYNC_UNFINISHED: no WebAssembly .*'wasm-unsafe-eval'/)
    expect(site.seen).toEqual([])
    await visit(context, site, { worker: `sync-worker.js?csp=${csp}` })
    await eventually(bodies).toEqual(['a'])
  })

  test('nothing while it is idle: no timer and no lock is left', async () => {
    const { context, devtools } = await newDevice(browser, site)
    await leave(context, site, ['a'])
    expect(await devtools.sync()).toBe('well')
    const [worker] = context.serviceWorkers()
    await eventually(() => worker?.evaluate(() => [...syncWorker.timers.values()])).toEqual([])
    const locks = () => worker?.evaluate(async () => (await navigator.locks.query()).held?.map(({ name }) => name))
    await eventually(locks).toEqual([])
  })

  test('nothing before it is woken: neither the core nor the store is opened', async () => {
    const { context } = await newDevice(browser, site)
    const page = await visit(context, site, { options: { durable: false } })
    const worker = context.serviceWorkers()[0]
    expect(await worker?.evaluate(() => [syncWorker.supported, syncWorker.queue.stats().depth])).toEqual([true, 0])
    expect(await page.evaluate(async () => (await indexedDB.databases()).map(({ name }) => name))).toEqual([])
  })
})

/** A page that is closed after the server could not take what it has stored; `sent`: what was tried meanwhile, by whomever. */
async function leaveUnsent(
  context: BrowserContext,
  stored: readonly string[],
  { sent = stored, ...given }: Visit & { readonly sent?: readonly string[] } = {},
): Promise<void> {
  site.answer = { status: 503, headers: { 'retry-after': '2' } }
  const page = await visit(context, site, given)
  for (const body of stored) await store(page, body)
  await eventually(() => sent.every((body) => bodies().includes(body))).toBe(true)
  await page.close()
  site.answer = { status: 200 }
  site.seen.length = 0
}

test('S1 a worker that is killed between two syncs comes back with all it needs', async () => {
  const { context, devtools } = await newDevice(browser, site)
  await leaveUnsent(context, ['a'])
  expect(await devtools.sync()).toBe('well')
  expect(bodies()).toEqual(['a'])
  await devtools.kill()
  await leaveUnsent(context, ['b'])
  await devtools.kill()
  expect(await devtools.sync()).toBe('well')
  expect(bodies()).toEqual(['b'])
})

test('S1 a worker that is killed while it sends: a page that opens sends it again, under the same key', async () => {
  const { context, devtools } = await newDevice(browser, site)
  await leaveUnsent(context, ['a'])
  site.answer = 'never'
  await devtools.startSync()
  await eventually(bodies).toEqual(['a'])
  await devtools.kill()
  site.answer = { status: 200 }
  const page = await visit(context, site)
  const status = async () => (await page.evaluate(() => syncPage.queue.list())).tasks.map((task) => task.status)
  await eventually(status).toEqual(['SUCCEEDED'])
  expect(bodies()).toEqual(['a', 'a'])
  expect(new Set(site.seen.map(({ headers }) => headers['idempotency-key'])).size).toBe(1)
})

test('while a page is open its tasks are left to it', async () => {
  const { context, devtools } = await newDevice(browser, site)
  site.answer = { status: 503, headers: { 'retry-after': '6' } }
  const page = await visit(context, site)
  await store(page, 'a')
  await eventually(bodies).toEqual(['a'])
  site.answer = { status: 200 }
  expect(await devtools.sync()).toBe('well')
  expect(await page.evaluate(() => syncPage.queue.stats().succeeded)).toBe(1)
  expect(bodies()).toEqual(['a', 'a'])
})

describe('S16 another user', () => {
  const cookiesOf = () => site.seen.map(({ headers, body }) => `${body} with ${headers.cookie}`)
  const logIn = (context: BrowserContext, user: string) =>
    context.addCookies([{ name: 'session', value: user, url: site.url }])
  const as = (principal: string): Visit => ({ options: { principal } })

  test('nothing of ann goes out with the cookies of ben, who was there last', async () => {
    const { context, devtools } = await newDevice(browser, site)
    await logIn(context, 'ann')
    await leave(context, site, ['hers'], as('ann'))
    await logIn(context, 'ben')
    await leave(context, site, ['his'], as('ben'))
    expect(await devtools.sync()).toBe('well')
    expect(cookiesOf()).toEqual(['his with session=ben'])
    // else it would follow the page, and send by itself
    await devtools.kill()
    await logIn(context, 'ann')
    await leaveUnsent(context, [], { ...as('ann'), sent: ['hers'] })
    expect(await devtools.sync()).toBe('well')
    expect(cookiesOf()).toEqual(['hers with session=ann'])
  })
})
