/** S16 with real cookies: what one user has queued is never sent while the browser's session is another's. */
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { eventually } from '../js/eventually.ts'
import { launch } from './chromium.ts'
import { type Answer, labOrigin, openLab, type Received } from './lab.ts'
import { listenDuringTests } from './origins.ts'

type User = 'ann' | 'ben'

/** Answers of the hooks that a page holds back. */
declare global {
  var release: (() => void) | undefined
}

let browser: Browser
const origin = labOrigin()
listenDuringTests(origin)
beforeAll(async () => {
  browser = await launch()
})
afterAll(() => browser?.close())

/** A site with a login: `/api/login/<user>` opens a session, everything else is somebody's order. */
const site = ({ path }: Received): Answer => {
  const [, user] = /^\/api\/login\/(\w+)$/.exec(path) ?? []
  if (user === undefined) return 200
  return (response) =>
    response.writeHead(200, { 'set-cookie': `session=${user}; HttpOnly; SameSite=Lax; Path=/` }).end()
}

beforeEach(() => {
  origin.reset()
  origin.answer = site
})

/** What arrived, and in whose session. */
const orders = (): readonly { readonly of: string; readonly session: string | undefined }[] =>
  origin.received
    .filter(({ path }) => path === '/api/order')
    .map(({ body, headers }) => ({ of: body, session: /session=(\w+)/.exec(headers.cookie ?? '')?.[1] }))

const OF_ANN = [{ of: 'ann', session: 'ann' }]

async function device(): Promise<BrowserContext> {
  const context = await browser.newContext()
  onTestFinished(() => context.close())
  return context
}

async function logIn(page: Page, user: User): Promise<void> {
  await page.evaluate((path) => fetch(path, { method: 'POST' }), `/api/login/${user}`)
}

/** As a site does it: nobody's while nobody is logged in. */
async function logOut(page: Page, context: BrowserContext): Promise<void> {
  await page.evaluate(() => lab.queue.setPrincipal(null))
  await context.clearCookies()
}

async function switchTo(page: Page, user: User): Promise<void> {
  await page.evaluate((principal) => lab.queue.setPrincipal(principal), user)
}

async function openAs(context: BrowserContext, user: User | null): Promise<Page> {
  const page = await openLab(context, origin)
  await page.evaluate(async (principal) => {
    await lab.open({ durable: true, principal }).ready
  }, user)
  return page
}

async function order(page: Page, user: User): Promise<string> {
  return await page.evaluate(async (body) => {
    const { taskId, durability } = await lab.queue.enqueue('/api/order', { method: 'POST', body })
    if (durability !== 'strict') throw new Error(`stored as ${durability}`)
    return taskId
  }, user)
}

/** Everything of `user` that could be sent has been: an order of its own, given up last, has arrived. */
async function allSent(page: Page, user: User): Promise<void> {
  const taskId = await order(page, user)
  const outcome = await page.evaluate((id) => lab.queue.result(id), taskId)
  expect(outcome.task.status).toBe('SUCCEEDED')
}

const ofBen = { of: 'ben', session: 'ben' }

test('S16 ann queues offline and logs out; ben logs in and goes online: only his is sent, and hers once she is back', async () => {
  const context = await device()
  const page = await openAs(context, 'ann')
  await logIn(page, 'ann')
  await context.setOffline(true)
  await order(page, 'ann')
  await logOut(page, context)
  await context.setOffline(false)
  await logIn(page, 'ben')
  await switchTo(page, 'ben')
  await allSent(page, 'ben')
  expect(orders()).toEqual([ofBen])

  await logOut(page, context)
  await logIn(page, 'ann')
  await switchTo(page, 'ann')
  await eventually(orders).toEqual([ofBen, ...OF_ANN])
  await allSent(page, 'ann')
  expect(orders()).toEqual([ofBen, ...OF_ANN, ...OF_ANN])
})

test('S16 the same when the page was closed in between', async () => {
  const context = await device()
  const first = await openAs(context, 'ann')
  await logIn(first, 'ann')
  await context.setOffline(true)
  await order(first, 'ann')
  await first.close()
  await context.clearCookies()
  await context.setOffline(false)

  const second = await openLab(context, origin)
  await logIn(second, 'ben')
  await second.evaluate(() => lab.open({ durable: true, principal: 'ben' }).ready)
  await allSent(second, 'ben')
  expect(orders()).toEqual([ofBen])
  await second.close()

  const third = await openLab(context, origin)
  await logIn(third, 'ann')
  await third.evaluate(() => lab.open({ durable: true, principal: 'ann' }).ready)
  await eventually(orders).toEqual([ofBen, ...OF_ANN])
})

test('S16 ben logs in in another tab: the tab that ann left open sends nothing of hers in his session', async () => {
  const context = await device()
  const tab = await openAs(context, 'ann')
  await logIn(tab, 'ann')
  // fails once, so that it waits in a tab that is awake and could send it
  origin.answer = (received) => (received.path === '/api/order' && received.before === 0 ? 503 : site(received))
  const other = await openAs(context, 'ann')
  await context.setOffline(true)
  await order(tab, 'ann')
  await logOut(other, context)
  await context.setOffline(false)
  await logIn(other, 'ben')
  await switchTo(other, 'ben')
  origin.answer = site
  await allSent(other, 'ben')
  expect(orders()).toEqual([ofBen])
  await tab.evaluate(() => lab.queue.flush())
  await allSent(other, 'ben')
  expect(orders()).toEqual([ofBen, ofBen])

  await logOut(other, context)
  await logIn(other, 'ann')
  await switchTo(other, 'ann')
  await eventually(orders).toEqual([ofBen, ofBen, ...OF_ANN])
  await other.evaluate(() => lab.queue.idle())
  expect(orders()).toHaveLength(3)
})

test('S16 ben logs in in another tab while a page of ann’s is loading its store: that page sends nothing of hers', async () => {
  const context = await device()
  const tab = await openAs(context, 'ann')
  await logIn(tab, 'ann')
  await tab.evaluate(() => lab.queue.pause())
  for (let i = 0; i < 3; i++) await order(tab, 'ann')
  let arrive: (() => void) | undefined
  origin.holdBack = (path) =>
    path === '/pkg/indexeddb.js' ? new Promise<void>((resolve) => (arrive = resolve)) : undefined
  const late = await openLab(context, origin)
  await late.evaluate(() => void lab.open({ durable: true, principal: 'ann' }))
  await eventually(() => arrive !== undefined).toBe(true)

  await logOut(tab, context)
  await logIn(tab, 'ben')
  await switchTo(tab, 'ben')
  arrive?.()
  await late.evaluate(async () => {
    await lab.queue.ready
    await lab.queue.flush()
  })
  await tab.evaluate(() => lab.queue.resume())
  await order(tab, 'ben')
  await eventually(orders).toEqual([ofBen])

  await logOut(tab, context)
  await logIn(tab, 'ann')
  await switchTo(tab, 'ann')
  await eventually(orders).toEqual([ofBen, ...OF_ANN, ...OF_ANN, ...OF_ANN])
})

test.for(['its own tab', 'another tab'] as const)(
  'S16 the user changes in %s while credentials are asked for: the attempt is given back unsent',
  async (where) => {
    const context = await device()
    const tab = await openLab(context, origin)
    await logIn(tab, 'ann')
    await tab.evaluate(async () => {
      const credentials = () =>
        new Promise<Record<string, string>>((resolve) => {
          globalThis.release = () => resolve({ 'x-api-key': 'of ann' })
        })
      await lab.open({ durable: true, principal: 'ann', credentials: { self: credentials } }).ready
    })
    await order(tab, 'ann')
    await tab.waitForFunction(() => globalThis.release !== undefined)

    const other = where === 'another tab' ? await openAs(context, 'ann') : tab
    await logOut(other, context)
    await logIn(other, 'ben')
    await switchTo(other, 'ben')
    await tab.evaluate(() => {
      globalThis.release?.()
      globalThis.release = undefined
    })
    await eventually(() => tab.evaluate(async () => (await lab.queue.stats()).inFlight)).toBe(0)
    expect(orders()).toEqual([])

    await logOut(other, context)
    await logIn(other, 'ann')
    await switchTo(other, 'ann')
    // the one that sends now is asked for credentials in the first tab, and has none in the other
    await eventually(async () => {
      await tab.evaluate(() => globalThis.release?.())
      return orders()
    }).toEqual(OF_ANN)
  },
)

test('S16 a GET that waits in the memory of one tab waits while another tab has another user', async () => {
  const context = await device()
  const tab = await openAs(context, 'ann')
  await logIn(tab, 'ann')
  const other = await openAs(context, 'ann')
  origin.answer = (received) => (received.path === '/api/mine' && received.before === 0 ? 503 : site(received))
  await tab.evaluate(() => {
    const call = lab.queue.fetch('/api/mine', { redrive: { waitMs: 60_000, policy: { initialDelayMs: 1_000 } } })
    Object.assign(globalThis, { answer: call.then(({ status }) => status) })
  })
  const mine = () =>
    origin.received
      .filter(({ path }) => path === '/api/mine')
      .map(({ headers }) => /session=(\w+)/.exec(headers.cookie ?? '')?.[1])
  await eventually(mine).toEqual(['ann'])
  const dueAt = Date.now() + 1_000
  await logOut(other, context)
  await logIn(other, 'ben')
  await switchTo(other, 'ben')
  // past the moment at which it would be sent
  await tab.waitForFunction((past) => Date.now() > past, dueAt + 1_500)
  expect(mine()).toEqual(['ann'])
  await logOut(other, context)
  await logIn(other, 'ann')
  await switchTo(other, 'ann')
  expect(await tab.evaluate(() => (globalThis as unknown as { answer: Promise<number> }).answer)).toBe(200)
  expect(mine()).toEqual(['ann', 'ann'])
})
