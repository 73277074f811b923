/** S16 with real cookies: what one user has queued is never sent while the browser's session is another's. */

import type { BrowserContext, Page } from 'playwright-core'
import { beforeEach, expect, test } from 'vitest'
import { duringTests } from '../during.ts'
import { eventually } from '../js/eventually.ts'
import { launch } from './chromium.ts'
import { newContext } from './contexts.ts'
import { type Answer, labOrigin, openLab, type Received } from './lab.ts'

type User = 'ann' | 'ben'

const browser = duringTests(() => launch())
const origin = labOrigin()

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
  const context = await newContext(browser)
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

test('S16 ben logs in in another tab: the tab that ann left open sends nothing of hers in his session', async () => {
  const context = await newContext(browser)
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
