/** L1 in a page whose later chunks come late, or not at the first try: what an earlier page has left is sent all the same. */

import type { BrowserContext } from 'playwright-core'
import { expect, test } from 'vitest'
import { duringTests } from '../during.ts'
import { eventually } from '../js/eventually.ts'
import { launch } from './chromium.ts'
import { newContext } from './contexts.ts'
import { labOrigin, openLab } from './lab.ts'

const browser = duringTests(() => launch())
const origin = labOrigin()

/** A browser in which a page has left three tasks. */
async function leaveTasks(): Promise<BrowserContext> {
  const context = await newContext(browser)
  const page = await openLab(context, origin)
  await page.evaluate(async () => {
    lab.open({ durable: true, principal: 'ann' }).pause()
    for (let i = 0; i < 3; i++) await lab.queue.enqueue('/api/order', { method: 'POST', body: 'tea' })
  })
  await page.close()
  return context
}

test.for(['the core', 'the store'] as const)(
  'L1 a chunk that the server refuses at first is asked for again: %s',
  async (what) => {
    const context = await leaveTasks()
    let refused = 0
    const page = await openLab(context, origin)
    origin.holdBack = (path) => {
      if (refused === 2 || (what === 'the store' && !path.startsWith('/pkg/indexeddb-'))) return undefined
      refused++
      return Promise.reject(new Error('503'))
    }
    await page.evaluate(() => void lab.open({ durable: true, principal: 'ann' }))
    await eventually(() => origin.received.length).toBe(3)
    expect(refused).toBe(2)
  },
)
