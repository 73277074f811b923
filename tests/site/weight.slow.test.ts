// What somebody who comes to the site loads at first. The demo's queue and the lab come when they are wanted.

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { duringTests } from '../during.ts'
import { visitor } from './visit.ts'

const LIMIT = 150 * 1024
const reports = fileURLToPath(new URL('../../target/test', import.meta.url))

const visits = duringTests(visitor)

/** Bytes after gzip of each file that a page loads until it is at rest. */
async function loaded(path: string): Promise<Map<string, number>> {
  await using context = await visits.fresh()
  const page: Page = await context.newPage()
  const bodies = new Map<string, Promise<Buffer>>()
  page.on('response', (response) => bodies.set(response.url().slice(visits.origin.length), response.body()))
  await page.goto(visits.origin + path, { waitUntil: 'networkidle' })
  const sizes = [...bodies].map(
    async ([name, body]): Promise<[string, number]> => [name, gzipSync(await body, { level: 9 }).length],
  )
  return new Map(await Promise.all(sizes))
}

test('the first load of the home page is at most 150 KB after gzip', async () => {
  const files = await loaded('/')
  const total = [...files.values()].reduce((sum, bytes) => sum + bytes, 0)
  const line = `home: ${total.toLocaleString('en')} bytes after gzip in ${files.size} files at first, of at most ${LIMIT.toLocaleString('en')}`
  mkdirSync(reports, { recursive: true })
  writeFileSync(join(reports, 'site.txt'), `${line}\n`)
  console.log(line)
  expect(files.size).toBeGreaterThan(5)
  expect(total).toBeLessThanOrEqual(LIMIT)
})

test('the lab is loaded by its own page, and by no other', async () => {
  await using context = await visits.fresh()
  const { page } = await visits.open('/lab', context)
  await page.waitForFunction(() => customElements.get('redrive-curve') !== undefined)
  await page.waitForSelector('redrive-curve')
  const home = await visits.open('/', context)
  expect(await home.page.evaluate(() => customElements.get('redrive-curve') === undefined)).toBe(true)
})

test('a lab that cannot be loaded says so, and is loaded again on request', async () => {
  await using context = await visits.fresh()
  let isBroken = true
  await context.route(/assets\/chunks\/ui\./, (route) => (isBroken ? route.abort() : route.continue()))
  const { page } = await visits.open('/lab', context)
  await page.waitForSelector('[role="alert"]:has-text("could not be loaded")')
  expect(isBroken).toBe(true)
  isBroken = false
  await page.getByRole('button', { name: 'Reload the page' }).click()
  await page.waitForSelector('redrive-curve')
})
