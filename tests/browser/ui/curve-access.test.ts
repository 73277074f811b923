/** `<redrive-curve>` for everybody: axe-core finds nothing in any view, light and dark, narrow and wide; the keyboard alone reaches all; words say what the pictures show. */

import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { VIEWS } from '../../../js/ui/lab/state.ts'
import { duringTests } from '../../during.ts'
import { bySize, SIZE } from '../../size.ts'
import { here, launch } from '../chromium.ts'
import { axeViolations } from './axe.ts'
import { type Kept, uiServer } from './ui-page.ts'

const browser = duringTests(() => launch())
const server = duringTests(() => uiServer('<redrive-curve></redrive-curve>'))

/** The elements' entry, whose text names the file of the core. */
const UI = here('../../pkg-service/ui/ui.js')

const TITLES = { curve: 'Waits', crowd: 'fail together', frontier: 'Evenness', outage: 'client' }

async function openView(view: keyof typeof TITLES, width: number, colorScheme: 'light' | 'dark'): Promise<Page> {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme, reducedMotion: 'reduce' })
  const page = await context.newPage()
  await page.goto(`${server.url}/#redrive-curve?view=${view}`)
  await page.locator('figcaption', { hasText: TITLES[view] }).waitFor()
  await page.locator('figure[aria-busy=false]').waitFor()
  return page
}

const screens = VIEWS.flatMap((view) =>
  [360, 1440].flatMap((width) => (['light', 'dark'] as const).map((scheme) => [view, width, scheme] as const)),
)

test.each(screens.slice(0, bySize(1, screens.length)))(
  '%s at %i px, %s: axe finds nothing, and nothing is wider than the page',
  async (view, width, scheme) => {
    const page = await openView(view, width, scheme)
    expect(await axeViolations(page)).toEqual([])
    expect(
      await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth),
    ).toBeLessThanOrEqual(0)
    expect(await page.evaluate(() => (globalThis as unknown as { kept: Kept }).kept)).toEqual({
      violations: [],
      errors: [],
    })
    await page.context().close()
  },
)

if (SIZE !== 'quick') {
  test('without a figure to show, while the core loads and where it does not come, axe finds nothing', async () => {
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 } })
    const page = await context.newPage()
    let refuse = (): unknown => undefined
    const [, core] = /import\("\.\/([\w-]+\.js)"\)\)\.loadCore/.exec(readFileSync(UI, 'utf8')) ?? []
    await page.route(`**/${core}`, (route) => {
      refuse = () => route.abort()
    })
    await page.goto(server.url)
    await page.getByText('Loading the core').waitFor()
    expect(await axeViolations(page)).toEqual([])
    await refuse()
    await page.getByRole('alert').waitFor()
    expect(await page.locator('figcaption').count()).toBe(0)
    expect(await axeViolations(page)).toEqual([])
    await context.close()
  })

  test('the keyboard alone reaches every control and every view', async () => {
    const page = await openView('curve', 1440, 'light')
    const focused = () =>
      page.evaluate(() => {
        const inside = document.querySelector('redrive-curve')?.shadowRoot?.activeElement
        return inside ? inside.id || inside.getAttribute('aria-label') || inside.textContent?.trim() || '' : ''
      })
    const seen: string[] = []
    for (let i = 0; i < 40; i += 1) {
      await page.keyboard.press('Tab')
      const now = await focused()
      if (now === '' && seen.length > 0) break
      if (now !== '') seen.push(now)
    }
    expect(seen).toEqual([
      'tab-curve',
      'Copy link',
      'Hide the table',
      'table',
      'preset',
      'strategy',
      'jitter',
      ...['initialDelayMs', 'Base, slider', 'multiplier', 'Multiplier, slider', 'maxDelayMs', 'Cap, slider'],
      ...['maxAttempts', 'Attempts, slider', 'totalBudgetMs', 'Budget, slider', 'retry-after', 'versus', 'json'],
      ...['RetryQueue', 'Command line', 'Environment', 'Copy', 'The policy as code'],
    ])
    await page.locator('#tab-curve').focus()
    for (const view of ['crowd', 'frontier', 'outage', 'curve']) {
      await page.keyboard.press('ArrowRight')
      expect(await focused()).toBe(`tab-${view}`)
      await page.locator('figcaption', { hasText: TITLES[view as keyof typeof TITLES] }).waitFor()
    }
    await page.context().close()
  })
}
