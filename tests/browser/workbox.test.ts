/**
 * Four ways in which a queue of requests loses one or gives one away, each shown in workbox-background-sync and its absence
 * in redrive: the same page, the same server, the same story.
 */
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { bundleForPage } from '../bundle.ts'
import { eventually } from '../js/eventually.ts'
import { launch } from './chromium.ts'
import { type Answer, labOrigin, openLab, type Received } from './lab.ts'
import { listenDuringTests } from './origins.ts'
import { recordsOf } from './records.ts'

const TOKEN = 'Bearer of-the-caller-Jx81Qz'

interface Side {
  /** Makes the page's queue. */
  open(page: Page): Promise<void>
  /** Hands a POST to `path` over. */
  enqueue(page: Page, path: string, headers?: Record<string, string>): Promise<void>
  /** The network is back: tries what waits, where the queue does not by itself. */
  replay(page: Page): Promise<void>
  /** Tries what was given up. */
  putBack(page: Page): Promise<void>
  /** How many it still has, or has given up and kept. */
  held(page: Page): Promise<number>
}

const workbox: Side = {
  open: (page) =>
    page.evaluate(() => {
      Object.assign(globalThis, { queue: new Workbox.Queue('requests') })
    }),
  enqueue: (page, path, headers = {}) =>
    page.evaluate(
      async ([url, given]) => {
        const request = new Request(url, { method: 'POST', body: 'of the caller', headers: given })
        await queue.pushRequest({ request })
      },
      [path, headers] as const,
    ),
  replay: (page) => page.evaluate(() => queue.replayRequests().catch(() => {})),
  putBack: (page) => workbox.replay(page),
  held: (page) => page.evaluate(() => queue.size()),
}

const redrive: Side = {
  open: (page) =>
    page.evaluate(async () => {
      const credentials = () => ({ authorization: 'Bearer of-the-caller-Jx81Qz' })
      await lab.open({ durable: true, principal: 'ann', credentials: { self: credentials } }).ready
    }),
  enqueue: (page, path, headers = {}) =>
    page.evaluate(
      async ([url, given]) => {
        await lab.queue.enqueue(url, { method: 'POST', body: 'of the caller', headers: given })
      },
      [path, headers] as const,
    ),
  replay: async () => {},
  putBack: (page) =>
    page.evaluate(async () => {
      await lab.queue.deadLetters.redriveAll()
    }),
  held: (page) =>
    page.evaluate(async () => {
      const { tasks } = await lab.queue.list()
      return tasks.filter(({ status }) => status !== 'SUCCEEDED').length
    }),
}
const sides = { workbox, redrive }

declare global {
  var queue: InstanceType<typeof Workbox.Queue>
}

let browser: Browser
let script = ''
const origin = labOrigin({ '/workbox.js': () => script })
listenDuringTests(origin)

beforeAll(async () => {
  const define = { 'process.env.NODE_ENV': '"production"' }
  ;[browser, script] = await Promise.all([launch(), bundleForPage('browser/workbox/in-page.ts', { define })])
})
beforeEach(() => origin.reset())
afterAll(() => browser?.close())

async function openPage(side: Side, context: BrowserContext): Promise<Page> {
  const page = await openLab(context, origin, () => Object.assign(globalThis, { registration: {} }))
  await page.addScriptTag({ url: '/workbox.js' })
  await side.open(page)
  return page
}

/** A page with a queue, on a device of its own. */
async function start(name: keyof typeof sides, answer: (received: Received) => Answer) {
  const side = sides[name]
  const context = await browser.newContext()
  onTestFinished(() => context.close())
  origin.answer = answer
  return { side, context, page: await openPage(side, context), open: () => openPage(side, context) }
}

const bodiesAt = (path: string): readonly string[] =>
  origin.received.filter((each) => each.path === path).map(({ body }) => body)

test.for([
  ['workbox', 'drops it', { arrived: 1, held: 0 }],
  ['redrive', 'keeps it, and delivers it when it is put back', { arrived: 2, held: 0 }],
] as const)('a replay is answered with 500: %s %s', async ([name, , wanted]) => {
  const { side, context, page } = await start(name, ({ before }) => (before === 0 ? 500 : 200))
  await context.setOffline(true)
  await side.enqueue(page, '/api/order')
  await context.setOffline(false)
  await side.replay(page)
  await eventually(() => origin.received.length).toBe(1)
  if (name === 'redrive') await page.waitForFunction(() => lab.ended.length === 1)
  expect(await side.held(page)).toBe(name === 'workbox' ? 0 : 1)
  await side.putBack(page)
  await eventually(() => bodiesAt('/api/order').length).toBe(wanted.arrived)
  await eventually(() => side.held(page)).toBe(wanted.held)
})

test.for([
  ['workbox', 'writes it to the disk', true],
  ['redrive', 'does not, and asks for it when it sends', false],
] as const)('S12 a request carries Authorization: %s %s', async ([name, , isStored]) => {
  const { side, context, page } = await start(name, () => 200)
  await context.setOffline(true)
  await side.enqueue(page, '/api/order', { authorization: TOKEN, 'x-request-id': 'harmless' })
  const records = JSON.stringify(await recordsOf(page))
  expect(records).toContain('harmless')
  expect(records.includes(TOKEN)).toBe(isStored)
  await context.setOffline(false)
  await side.replay(page)
  await eventually(() => origin.received.map(({ headers }) => headers.authorization)).toEqual([TOKEN])
})

test.for([
  ['workbox', 'has deleted it before it was sent', 0],
  ['redrive', 'still has it, and delivers it', 1],
] as const)('S1 the page is killed while a request is on its way: %s %s', async ([name, , delivered]) => {
  const { side, context, page, open } = await start(name, ({ before }) => (before === 0 ? 'never' : 200))
  await context.setOffline(true)
  await side.enqueue(page, '/api/order')
  await context.setOffline(false)
  void side.replay(page).catch(() => {}) // it dies with the page
  await eventually(() => origin.received.length).toBe(1)
  const session = await context.newCDPSession(page)
  const crashed = page.waitForEvent('crash')
  void session.send('Page.crash').catch(() => {}) // nobody is left to answer
  await crashed

  const next = await open()
  await side.replay(next)
  if (delivered > 0) await eventually(() => origin.received.length).toBe(1 + delivered)
  await eventually(() => side.held(next)).toBe(0)
  expect(origin.received).toHaveLength(1 + delivered)
})

test.for([
  ['workbox', 'sends none of them', 0],
  ['redrive', 'sends them all', 3],
] as const)('L4 one request that never gets through, before three that would: %s %s', async ([name, , delivered]) => {
  const { side, context, page } = await start(name, ({ path }) => (path === '/api/broken' ? 'reset' : 200))
  await context.setOffline(true)
  for (const path of ['/api/broken', '/api/1', '/api/2', '/api/3']) await side.enqueue(page, path)
  await context.setOffline(false)
  for (let round = 0; round < 3; round++) await side.replay(page)
  const arrived = () => origin.received.filter(({ path }) => path !== '/api/broken').length
  await eventually(arrived).toBe(delivered)
  expect(bodiesAt('/api/broken').length).toBeGreaterThanOrEqual(1)
  await eventually(() => side.held(page)).toBe(name === 'workbox' ? 4 : 1)
})
