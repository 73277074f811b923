/** S16 with real cookies: while a user logs in in one tab, whose cookies may be there at any moment, no tab sends anything. */
import type { ServerResponse } from 'node:http'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { eventually } from '../js/eventually.ts'
import { launch } from './chromium.ts'
import { labOrigin, openLab } from './lab.ts'
import { listenDuringTests } from './origins.ts'

let browser: Browser
const origin = labOrigin()
listenDuringTests(origin)
beforeAll(async () => {
  browser = await launch()
})
afterAll(() => browser?.close())

/** The login that the server has not answered yet. */
let login: ServerResponse | undefined
const cookieOf = (user: string) => ({ 'set-cookie': `session=${user}; HttpOnly; SameSite=Lax; Path=/` })

beforeEach(() => {
  origin.reset()
  login = undefined
  origin.answer = ({ path }) => {
    if (path === '/api/login/ann') return (response) => void response.writeHead(200, cookieOf('ann')).end()
    if (path !== '/api/login/ben') return 200
    return (response) => {
      login = response
    }
  }
})

/** What arrived, and in whose session. */
const orders = (): readonly { readonly of: string; readonly session: string | undefined }[] =>
  origin.received
    .filter(({ path }) => path === '/api/order')
    .map(({ body, headers }) => ({ of: body, session: /session=(\w+)/.exec(headers.cookie ?? '')?.[1] }))

async function openAs(context: BrowserContext, user: string): Promise<Page> {
  const page = await openLab(context, origin)
  await page.evaluate((principal) => lab.open({ durable: true, principal }).ready, user)
  return page
}

async function order(page: Page, body: string, sensitive = false): Promise<void> {
  await page.evaluate(
    async ([body, sensitive]) => {
      await lab.queue.enqueue('/api/order', { method: 'POST', body, redrive: { sensitive } })
    },
    [body, sensitive] as const,
  )
}

/** Of ann's browser, in which one tab has ben's order; he logs in in another, and is not answered. */
async function underWay(): Promise<{ readonly context: BrowserContext; readonly tab: Page; readonly bens: Page }> {
  const context = await browser.newContext()
  onTestFinished(() => context.close())
  const bens = await openAs(context, 'ben')
  await bens.evaluate(() => lab.queue.pause())
  await order(bens, 'ben')
  const tab = await openAs(context, 'ann')
  await tab.evaluate(async () => {
    await fetch('/api/login/ann', { method: 'POST' })
    const during = () => fetch('/api/login/ben', { method: 'POST' })
    void lab.queue.setPrincipal('ben', { during }).catch(() => {})
  })
  await eventually(() => login !== undefined).toBe(true)
  await bens.evaluate(() => lab.queue.resume())
  return { context, tab, bens }
}

/** Longer than any wait of a task here. */
const pass = (page: Page) => page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 1_500)))

test('S16 neither a tab that is ben’s already, nor one opened meanwhile, sends before he is logged in', async () => {
  const { context, bens } = await underWay()
  const late = await openAs(context, 'ben')
  await order(late, 'ben, late')
  await order(late, 'ben, in memory', true)
  const anns = await openAs(context, 'ann')
  await order(anns, 'ann')
  await bens.evaluate(() => lab.queue.flush())
  await pass(anns)
  expect(orders()).toEqual([])
  login?.writeHead(200, cookieOf('ben')).end()
  await eventually(() => orders().toSorted((a, b) => (a.of < b.of ? -1 : 1))).toEqual([
    { of: 'ben', session: 'ben' },
    { of: 'ben, in memory', session: 'ben' },
    { of: 'ben, late', session: 'ben' },
  ])
})

/** Resolves once the other side has died of it. */
const deaths: Record<string, (page: Page) => Promise<unknown>> = {
  'is closed': (page) => page.close(),
  crashes: async (page) => {
    const session = await page.context().newCDPSession(page)
    const crashed = new Promise((resolve) => page.once('crash', resolve))
    session.send('Page.crash').catch(() => {}) // the answer dies with the page
    await crashed
  },
  'goes elsewhere': (page) => page.goto('about:blank'),
}

test.for(Object.entries(deaths))('L3 S16 when the tab that logs in %s, the others go on at once', async ([_, die]) => {
  const { context, tab } = await underWay()
  const anns = await openAs(context, 'ann')
  await order(anns, 'ann')
  await pass(anns)
  expect(orders()).toEqual([])
  const diesAt = Date.now()
  await die(tab)
  await eventually(orders).toEqual([{ of: 'ann', session: 'ann' }])
  expect(Date.now() - diesAt).toBeLessThan(3_000)
})
