// The search of the site, which is in the page: no host is asked.

import { expect, test } from 'vitest'
import { duringTests } from '../during.ts'
import { foundByAxe } from './axe.ts'
import { visitor } from './visit.ts'

const visits = duringTests(visitor)

test('finds a page by the keyboard alone', async () => {
  await using context = await visits.fresh()
  const { page, complaints, strangers } = await visits.open('/', context)
  await page.keyboard.press('Control+k')
  await page.waitForSelector('.VPLocalSearchBox input')
  await page.keyboard.type('storms')
  await page.waitForSelector('.VPLocalSearchBox .result.selected[href*="/storms"]')
  expect(await foundByAxe(page)).toEqual([])
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowUp')
  await page.keyboard.press('Enter')
  await page.waitForSelector('h1:has-text("Storms")')
  expect(new URL(page.url()).pathname).toBe('/storms')
  expect(complaints).toEqual([])
  expect(strangers).toEqual([])
})

test('finds a type of the API by its name', async () => {
  await using context = await visits.fresh()
  const { page } = await visits.open('/guide/node', context)
  await page.keyboard.press('/')
  await page.waitForSelector('.VPLocalSearchBox input')
  await page.keyboard.type('CircuitOpenError')
  await page.waitForSelector('.VPLocalSearchBox .result.selected[href*="/CircuitOpenError"]')
  await page.keyboard.press('Enter')
  await page.waitForSelector('h1:has-text("CircuitOpenError")')
})
