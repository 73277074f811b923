// Kinds of page of the site, each in light and dark: nothing that its Content-Security-Policy forbids, no word to the console, no request to
// another host, and nothing that axe finds wrong.

import { describe, expect, test } from 'vitest'
import { duringTests } from '../during.ts'
import { foundByAxe } from './axe.ts'
import { type Scheme, visitor } from './visit.ts'

const pages: readonly (readonly [string, string])[] = [
  ['home', '/'],
  ['a guide', '/guide/first-retry'],
  ['a concept', '/concepts/gates'],
  ['a page with wide tables', '/durability'],
  ['the index of the API', '/api/'],
  ['a class of the API', '/api/redrive/classes/RetryQueue'],
  ['the live page', '/live'],
  ['the lab', '/lab'],
  ['benchmarks', '/benchmarks'],
  ['decisions', '/adr/'],
  ['a decision', '/adr/0001-sans-io-core'],
]

const visits = duringTests(visitor)

describe.each<Scheme>(['light', 'dark'])('in %s', (scheme) => {
  test.each(pages)('%s says nothing to the console, asks no other host, and is accessible', async (_, path) => {
    await using context = await visits.fresh(scheme)
    const { page, complaints, strangers } = await visits.open(path, context)
    expect(await page.evaluate(() => document.documentElement.classList.contains('dark'))).toBe(scheme === 'dark')
    expect(await foundByAxe(page)).toEqual([])
    expect(complaints).toEqual([])
    expect(strangers).toEqual([])
  })
})

test('the switch of the scheme says nothing to the console either', async () => {
  await using context = await visits.fresh()
  const { page, complaints } = await visits.open('/', context)
  await page.getByRole('switch', { name: /dark/ }).first().click()
  await page.waitForFunction(() => document.documentElement.classList.contains('dark'))
  expect(complaints).toEqual([])
})

test('no page is wider than a phone', async () => {
  await using context = await visits.fresh()
  const { page } = await visits.open('/', context)
  await page.setViewportSize({ width: 320, height: 640 })
  const wide: string[] = []
  for (const [name, path] of pages) {
    await page.goto(visits.origin + path, { waitUntil: 'networkidle' })
    const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
    if (over > 0) wide.push(`${name}: ${over} px`)
  }
  expect(wide).toEqual([])
})

test('the words of a wide picture can be read on a phone: it scrolls', async () => {
  await using context = await visits.fresh()
  const { page } = await visits.open('/', context)
  await page.setViewportSize({ width: 360, height: 640 })
  for (const path of ['/', '/gates', '/storms', '/guide/many-tabs']) {
    await page.goto(visits.origin + path, { waitUntil: 'networkidle' })
    const picture = page.locator('.vp-doc p > img[src$=".svg"]').first()
    const width = await picture.evaluate((image) => image.getBoundingClientRect().width)
    // of 880: words of 13.5 px have 9.8 then
    expect([path, width]).toEqual([path, 640])
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360)
    expect(await foundByAxe(page)).toEqual([])
  }
})
