/** Tabs of a real browser that die, freeze or are put away, and how soon the others know. */
import { build } from 'esbuild'
import type { BrowserContext, Page } from 'playwright-core'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { duringTests } from '../during.ts'
import { crash, here, launch } from './chromium.ts'
import { newContext } from './contexts.ts'
import { listenDuringTests, scripted } from './origins.ts'
import type {} from './presence/page.ts'

let script = ''
const origin = scripted(() => script)
listenDuringTests(origin)

// Playwright turns the cache for the way back off
const browser = duringTests(() => launch({ ignoreDefaultArgs: ['--disable-back-forward-cache'] }))
let context: BrowserContext
beforeAll(async () => {
  const entryPoints = [here('presence/page.ts')]
  const { outputFiles } = await build({ entryPoints, bundle: true, format: 'iife', target: 'es2022', write: false })
  script = outputFiles[0]?.text ?? ''
})
beforeEach(async () => {
  context = await newContext(browser)
})

async function open(): Promise<Page> {
  const page = await context.newPage()
  await page.goto(`${origin.url}/`)
  return page
}

/** Resolves once the other side has died of it. */
const deaths: Record<string, (page: Page) => Promise<unknown>> = {
  'is closed': (page) => page.close(),
  crashes: crash,
  // one that does not rest keeps its locks for as long as the browser keeps the page for the way back
  'rests and goes elsewhere': async (page) => {
    await page.evaluate(() => tab.restOnPagehide())
    await page.goto('about:blank')
  },
}

describe.each(Object.entries(deaths))('a tab that %s', (_, die) => {
  test('L3 is heard by those who watch its home and its guard, and by who waits for the pump', async () => {
    const [watching, dying] = [await open(), await open()]
    await dying.evaluate(async () => {
      tab.wantPump()
      await tab.presence.holdHome('dying')
      await tab.presence.guard('dying')
    })
    const live = await watching.evaluate(async () => {
      tab.wantPump()
      tab.presence.watchGuards(['dying'], 0)
      return tab.presence.liveHomes()
    })
    expect(live).toEqual(['dying'])
    expect(await watching.evaluate(() => [tab.hints.length, tab.grants.length])).toEqual([0, 0])

    await die(dying)
    await watching.waitForFunction(() => tab.hints.length === 2 && tab.grants.length === 1)
    expect(await watching.evaluate(() => tab.presence.liveHomes())).toEqual([])
    expect(await watching.evaluate(() => tab.presence.orphanedLeases(async () => 7))).toEqual({
      owners: ['dying'],
      upTo: 7,
    })
    expect(await watching.evaluate(() => navigator.locks.query())).toMatchObject({ pending: [] })
  })
})

test('a tab that others watch is live though its watchers are many', async () => {
  const pages = [await open(), await open(), await open()]
  await pages[0]?.evaluate(() => tab.presence.holdHome('first'))
  for (const page of pages) expect(await page.evaluate(() => tab.presence.liveHomes())).toEqual(['first'])
  await pages[0]?.evaluate(() => tab.presence.dropHome('first'))
  for (const page of pages.slice(1)) await page.waitForFunction(() => tab.hints.length === 1)
  for (const page of pages) expect(await page.evaluate(() => tab.presence.liveHomes())).toEqual([])
})

describe('the pump', () => {
  test('goes from a tab that is hidden to one that waits, and back when that lets go', async () => {
    const [first, second] = [await open(), await open()]
    await first.evaluate(() => tab.wantPump())
    await first.waitForFunction(() => tab.grants.length === 1)
    await second.evaluate(() => tab.wantPump())
    await first.evaluate(() => tab.show('hidden'))
    await second.waitForFunction(() => tab.grants.length === 1)
    await second.evaluate(() => tab.presence.leader?.resign())
    await first.waitForFunction(() => tab.grants.length === 2)
  })

  test('is taken from a tab that is frozen', async () => {
    const frozen = await open()
    await frozen.evaluate(() => tab.wantPump())
    await frozen.waitForFunction(() => tab.grants.length === 1)
    await frozen.evaluate(async () => {
      tab.show('hidden')
      while (!(await navigator.locks.query()).held?.some(({ name }) => name?.includes('hidden')));
    })
    const session = await context.newCDPSession(frozen)
    await session.send('Page.setWebLifecycleState', { state: 'frozen' })
    const page = await open()
    await page.evaluate(() => tab.wantPump())
    await page.waitForFunction(() => tab.grants.length === 1)
    await session.send('Page.setWebLifecycleState', { state: 'active' })
  })
})

describe('the way back', () => {
  async function leaveAndReturn(prepare: () => Promise<unknown>): Promise<Page> {
    const page = await open()
    await page.evaluate(prepare)
    const asked = await page.evaluate(async () => {
      tab.presence.watchGuards(['other'], 0)
      tab.channel.listen(() => {})
      await tab.connection.read(async () => {})
      await tab.presence.guard('own')
      await tab.presence.holdHome('own')
      tab.wantPump()
      return (await navigator.locks.query()).held?.length
    })
    expect(asked).toBeGreaterThan(0)
    await page.goto(`${origin.url}/elsewhere`)
    // a page that comes back as it was is not loaded
    await page.evaluate(() => history.back())
    await page.waitForURL(`${origin.url}/`, { waitUntil: 'commit' })
    await page.waitForFunction(() => globalThis.tab !== undefined)
    return page
  }

  test('keeps a page that rests when it is put away, and its locks are taken up again', async () => {
    const page = await leaveAndReturn(async () => tab.restOnPagehide())
    expect(await page.evaluate(() => tab.cameBack)).toBe(true)
    expect(await page.evaluate(() => tab.presence.guard('own'))).toBe(true)
    await page.evaluate(() => tab.wantPump())
    await page.waitForFunction(() => tab.grants.length === 2)
  })

  test('keeps no page that the browser knows to hold locks', async () => {
    // a page tells the browser of its locks a moment after it has them; one that leaves before that is kept
    const comesBack = async () => {
      const page = await leaveAndReturn(async () => {})
      const cameBack = await page.evaluate(() => tab.cameBack)
      await page.close()
      return cameBack
    }
    await expect.poll(comesBack, { timeout: 10_000 }).toBeUndefined()
  })
})
