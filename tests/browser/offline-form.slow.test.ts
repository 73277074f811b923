/** The example as people meet it: fill in, no network, close the browser, come back. The server says what arrived. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import type { BrowserContext, Page } from 'playwright-core'
import { describe, expect, onTestFinished, test } from 'vitest'
import { formServer } from '../../examples/offline-form/server.mjs'
import { duringTests } from '../during.ts'
import { freshFolder } from '../folder.ts'
import { eventually } from '../js/eventually.ts'
import { here, launch, launchOn } from './chromium.ts'
import { newContext } from './contexts.ts'

interface Received {
  readonly place: string
  readonly what: string
  readonly photo: { readonly name: string; readonly bytes: number }
  readonly sent: number
}

/** As the form does it, but for the patience. As text: the test runner would rewrite an `import()` in a function. */
const giveUp = `(async () => {
  const { RetryQueue } = await import('/redrive/index.js')
  const queue = new RetryQueue({ name: 'trail', durable: true, principal: null, policy: { maxAttempts: 1 } })
  const body = new FormData(document.querySelector('form'))
  body.set('place', 'Ford')
  const { taskId } = await queue.enqueue('/api/reports?place=Ford', { method: 'POST', body })
  await queue.result(taskId)
  await queue.close()
})()`

/** The form's server, which can go away and come back. */
async function site() {
  const server = formServer({ latencyMs: 50 })
  const listen = async (port: number) => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  }
  const leave = async () => {
    const closed = once(server, 'close')
    server.close()
    server.closeAllConnections()
    await closed
  }
  const port = await listen(0)
  const url = `http://127.0.0.1:${port}/`
  onTestFinished(async () => {
    if (server.listening) await leave()
  })
  const received = async (): Promise<readonly Received[]> => (await fetch(`${url}api/reports`)).json()
  return { url, received, leave, comeBack: () => listen(port) }
}

const report = (page: Page, place: string) => page.locator('#reports li', { hasText: place })
const stateOf = (page: Page, place: string) => report(page, place).locator('.state').innerText()

const refused = (page: Page) => page.locator('[data-when="refused"]:visible').waitFor()

async function write(page: Page, place: string, photo?: string): Promise<void> {
  await page.getByLabel('Where').fill(place)
  await page.getByLabel('What you saw').fill('Two planks are missing.')
  if (photo) await page.getByLabel('Photo').setInputFiles(photo)
  await page.getByRole('button', { name: 'Send report' }).click()
}

/** Opens the form, and waits until it has put itself aside for opening without a network. */
async function open(context: BrowserContext, url: string): Promise<Page> {
  const page = await context.newPage()
  await page.goto(url)
  const kept = () => page.evaluate(async () => (await (await caches.open('trail')).keys()).length)
  await eventually(kept).toBeGreaterThan(10)
  return page
}

test('S1 written without a network, the browser closed, opened again without one: delivered once there is one, once', async () => {
  const folder = freshFolder()
  const { url, received, leave, comeBack } = await site()
  const photo = here('../../docs/outage.svg')

  const before = await launchOn(folder)
  const page = await open(before, url)
  await before.setOffline(true)
  await leave()
  await page.getByText('You are offline.').waitFor()
  await write(page, 'Bridge below the ridge', photo)
  await report(page, 'Bridge below the ridge').waitFor()
  expect(await stateOf(page, 'Bridge below the ridge')).toBe('Waiting for a connection')
  await before.close()

  const after = await launchOn(folder)
  onTestFinished(() => after.close())
  const again = await after.newPage()
  await again.goto(url) // nobody listens there
  await report(again, 'Bridge below the ridge').waitFor()
  expect(await stateOf(again, 'Bridge below the ridge')).not.toBe('Delivered')
  await comeBack()
  await eventually(() => stateOf(again, 'Bridge below the ridge')).toBe('Delivered')
  const bytes = readFileSync(photo).length
  const what = 'Two planks are missing.'
  expect(await received()).toEqual([
    { place: 'Bridge below the ridge', what, photo: { name: 'outage.svg', bytes }, sent: 1 },
  ])
  expect(await again.locator('#summary').innerText()).toBe('1 of 1 delivered')
})

describe('in one browser', () => {
  const browser = duringTests(() => launch())

  async function start() {
    const context = await newContext(browser)
    const served = await site()
    const errors: string[] = []
    const page = await open(context, served.url)
    page.on('pageerror', (error) => errors.push(error.message))
    return { ...served, context, page, errors }
  }

  test.each([
    ['light', 1200],
    ['dark', 1200],
    ['light', 360],
    ['dark', 360],
  ] as const)('%s, %i pixels wide: every state, and nothing wider than the screen', async (colorScheme, width) => {
    const { page, context, errors } = await start()
    await page.emulateMedia({ colorScheme })
    await page.setViewportSize({ width, height: 900 })
    const look = async () => {
      expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true)
    }
    await page.getByText('Nothing here yet.').waitFor()
    await look()
    await context.setOffline(true)
    await page.getByText('You are offline.').waitFor()
    await look()
    await write(page, 'Bridge below the north ridge')
    await write(page, 'Kilometre 7, where the stream crosses averyveryverylongnamewithoutanyspaceinit')
    await eventually(() => page.locator('[data-status="PENDING"]').count()).toBe(2)
    await look()
    await context.setOffline(false)
    await eventually(() => page.locator('#summary').innerText()).toBe('2 of 2 delivered')
    expect(await page.getByText('You are offline.').isVisible()).toBe(false)
    await look()
    await write(page, '???')
    await refused(page)
    await look()
    expect(errors).toEqual([])
  })

  test('a report that is still waiting can be withdrawn', async () => {
    const { page, context, received } = await start()
    await context.setOffline(true)
    await write(page, 'Wrong trail')
    await page.getByRole('button', { name: 'Withdraw' }).click()
    await page.getByText('Nothing here yet.').waitFor()
    await context.setOffline(false)
    await write(page, 'Right trail')
    await eventually(() => page.locator('#summary').innerText()).toBe('1 of 1 delivered')
    expect((await received()).map(({ place }) => place)).toEqual(['Right trail'])
  })

  test('one that was not accepted can be deleted', async () => {
    const { page } = await start()
    await write(page, '???')
    await refused(page)
    expect(await page.getByRole('button', { name: 'Try again' }).isVisible()).toBe(false)
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByText('Nothing here yet.').waitFor()
  })

  test('one that was given up can be tried again', async () => {
    const { page, context, received } = await start()
    await context.route('**/api/reports*', (route) => route.abort())
    await page.evaluate(giveUp)
    await page.reload()
    expect(await stateOf(page, 'Ford')).toMatch(/^Not delivered:/)
    await context.unroute('**/api/reports*')
    await page.getByRole('button', { name: 'Try again' }).click()
    await eventually(() => stateOf(page, 'Ford')).toBe('Delivered')
    expect(await received()).toHaveLength(1)
  })

  test('a second tab shows what becomes of the reports of the first', async () => {
    const { page, context, url } = await start()
    await context.setOffline(true)
    await write(page, 'Seen twice')
    await report(page, 'Seen twice').waitFor()
    const other = await open(context, url)
    expect(await stateOf(other, 'Seen twice')).toBe('Waiting for a connection')
    await context.setOffline(false)
    for (const tab of [page, other]) await eventually(() => stateOf(tab, 'Seen twice')).toBe('Delivered')
  })
})

test('the demo serves it, and says where', async () => {
  const child = spawn(process.execPath, [here('../../examples/demo/run.mjs'), '--offline-form'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill())
  let output = ''
  while (!/http:\S+\//.test(output)) output += String((await once(child.stdout, 'data'))[0])
  const url = /http:\S+\//.exec(output)?.[0] ?? ''
  expect(await (await fetch(url)).text()).toContain('<h1>Trail report</h1>')
  expect(await (await fetch(`${url}redrive/index.js`)).text()).toContain('RetryQueue')
})

test('its own script is short enough to read: at most 60 lines', () => {
  const script = readFileSync(here('../../examples/offline-form/form.js'), 'utf8')
  expect(script.trimEnd().split('\n').length).toBeLessThanOrEqual(60)
})
