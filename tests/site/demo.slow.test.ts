// The demo of the home page: a real queue in the page, and a server that is away.

import { expect, test } from 'vitest'
import { duringTests } from '../during.ts'
import { foundByAxe } from './axe.ts'
import { type Scheme, visitor } from './visit.ts'

const visits = duringTests(visitor)

/** Requests that fail are the demo's matter, and told of by the browser itself. */
const unexpected = (complaints: readonly string[]): readonly string[] =>
  complaints.filter((text) => !/Failed to load resource|\/demo-api\/orders$/.test(text))

test('an order waits for a server that is away, survives a reload, and arrives once, under the key it had', async () => {
  await using context = await visits.fresh()
  const { page, complaints, strangers } = await visits.open('/', context)
  const away = page.getByRole('switch', { name: 'Server down' })
  await away.click()
  await page.waitForSelector('[aria-checked="true"]:has-text("Server down")')
  await page.getByRole('button', { name: 'Send an order' }).click()
  await page.waitForSelector('.order[data-status="PENDING"] .dot:not(.ok):not(.next)')
  const key = await page.getAttribute('.order', 'data-key')
  expect(key).toMatch(/^[0-9a-f-]{36}$/)

  await page.reload()
  await page.waitForSelector(`.order[data-key="${key}"][data-status="PENDING"]`)
  expect(await away.getAttribute('aria-checked')).toBe('true')
  await away.click()
  await page.waitForSelector('[aria-checked="false"]:has-text("Server down")')
  await page.getByRole('button', { name: 'Try now' }).click()
  await page.waitForSelector(`.order[data-key="${key}"][data-status="SUCCEEDED"]`)

  expect(await page.locator('.order').count()).toBe(1)
  const report = (await page.evaluate('fetch("/demo-api/report").then((answer) => answer.json())')) as object
  expect(report).toMatchObject({ away: false, orders: 1 })
  expect(unexpected(complaints)).toEqual([])
  expect(strangers).toEqual([])
})

test('the first order is met with a 503 and the answer to the second is lost: both arrive once', async () => {
  await using context = await visits.fresh()
  const { page } = await visits.open('/', context)
  for (const count of [1, 2]) {
    await page.getByRole('button', { name: 'Send an order' }).click()
    await page.waitForFunction(
      (done) => document.querySelectorAll('.order[data-status="SUCCEEDED"]').length === done,
      count,
    )
  }
  const figures = await page.locator('.demo-foot dd').allTextContents()
  expect(figures).toEqual(['4', '2', '1'])
  expect(await page.locator('.order .dot').count()).toBe(4)
})

test.each<Scheme>(['light', 'dark'])(
  'orders that wait and orders that are done are accessible in %s',
  async (scheme) => {
    await using context = await visits.fresh(scheme)
    const { page } = await visits.open('/', context)
    await page.getByRole('button', { name: 'Send an order' }).click()
    await page.waitForSelector('.order[data-status="SUCCEEDED"]')
    await page.getByRole('switch', { name: 'Server down' }).click()
    await page.waitForSelector('[aria-checked="true"]:has-text("Server down")')
    await page.getByRole('button', { name: 'Send an order' }).click()
    await page.waitForSelector('.order[data-status="PENDING"] .dot:not(.ok):not(.next)')
    expect(await foundByAxe(page)).toEqual([])
  },
)

test('a demo that is forgotten leaves no task, no database and no service worker', async () => {
  await using context = await visits.fresh()
  const { page } = await visits.open('/', context)
  await page.getByRole('button', { name: 'Send an order' }).click()
  await page.waitForSelector('.order')
  await page.getByRole('button', { name: 'Forget this demo' }).click()
  await page.waitForSelector('.demo-foot', { state: 'detached' })
  const left = await page.evaluate(async () => ({
    databases: (await indexedDB.databases()).map(({ name }) => name),
    workers: (await navigator.serviceWorker.getRegistrations()).length,
    caches: await caches.keys(),
    said: localStorage.getItem('redrive-demo-used'),
  }))
  expect(left).toEqual({ databases: [], workers: 0, caches: [], said: null })
})

test('without a service worker the demo says what it lacks', async () => {
  await using context = await visits.fresh()
  await context.addInitScript(() => Object.defineProperty(navigator, 'serviceWorker', { value: undefined }))
  const { page } = await visits.open('/', context)
  await page.getByRole('button', { name: 'Send an order' }).click()
  await page.waitForSelector('[role="alert"]:has-text("needs a service worker")')
})
