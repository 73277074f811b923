/** A real service worker in a real Chromium: what pages have left is sent by it, once. */
import { describe, expect, test } from 'vitest'
import { duringTests } from '../during.ts'
import { launch } from './chromium.ts'
import { leave, newDevice, syncSite } from './sync-site.ts'

const site = syncSite()
const browser = duringTests(() => launch())

const bodies = () => site.seen.map(({ body }) => body).sort()

describe.each([
  ['module', 'sync-worker.js'],
  ['classic', 'sync-worker.classic.js'],
] as const)('as a %s', (type, worker) => {
  test('S1 S5 sends what a closed page has stored, once and under its key', async () => {
    const { context, devtools } = await newDevice(browser, site)
    await leave(context, site, ['a', 'b', 'c'], { type, worker })
    expect(await devtools.sync()).toBe('well')
    expect(bodies()).toEqual(['a', 'b', 'c'])
    expect(new Set(site.seen.map(({ headers }) => headers['idempotency-key'])).size).toBe(3)
    expect(await devtools.sync()).toBe('well')
    expect(site.seen).toHaveLength(3)
  })
})
