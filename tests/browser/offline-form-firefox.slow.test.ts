/** The form in Firefox, which has no Background Sync: the page itself sends what was written while there was no network. */

import type { Page } from 'puppeteer-core'
import { expect, onTestFinished, test } from 'vitest'
import { formServer } from '../../examples/offline-form/server.mjs'
import { duringTests } from '../during.ts'
import { eventually } from '../js/eventually.ts'
import { listening } from '../loopback.ts'
import { launchFirefox } from './firefox.ts'

const browser = duringTests(() => launchFirefox())

async function site() {
  const server = formServer({ latencyMs: 50 })
  onTestFinished(() => server.closeAllConnections())
  const url = `${await listening(server)}/`
  const received = async (): Promise<readonly object[]> => (await fetch(`${url}api/reports`)).json()
  return { url, received }
}

/** Opens the form, and waits until it has put itself aside for opening without a network. */
async function open(url: string): Promise<Page> {
  const page = await browser.newPage()
  onTestFinished(async () => void (page.isClosed() || (await page.close())))
  await page.goto(url)
  const kept = () => page.evaluate(async () => (await (await caches.open('trail')).keys()).length)
  await eventually(kept).toBeGreaterThan(10)
  return page
}

async function write(page: Page, place: string): Promise<void> {
  await page.type('#place', place)
  await page.type('#what', 'Two planks are missing.')
  await page.click('button[type="submit"]')
}
const state = (page: Page) => page.$eval('#reports .state', (words) => (words as HTMLElement).innerText)

test('S1 written without a network, delivered once when there is one', async () => {
  const { url, received } = await site()
  const page = await open(url)
  await page.setOfflineMode(true)
  await page.waitForSelector('#offline:not([hidden])')
  await write(page, 'Bridge below the ridge')
  await eventually(() => state(page)).toBe('Waiting for a connection')
  expect(await received()).toEqual([])
  await page.setOfflineMode(false)
  await eventually(() => state(page)).toBe('Delivered')
  expect(await received()).toMatchObject([{ place: 'Bridge below the ridge', sent: 1 }])
})
