/**
 * 100,000 tasks: what is drawn stays a screenful, and how long the first paint and scrolling take is printed. Times are this machine's, and no test
 * stands on them.
 */
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { launch } from '../chromium.ts'
import { labOrigin } from '../lab.ts'
import { listenDuringTests } from '../origins.ts'
import { type InspectorTab, openInspector } from './inspector-page.ts'

const origin = labOrigin()
listenDuringTests(origin)
let browser: Browser
beforeAll(async () => {
  browser = await launch()
})
afterAll(() => browser?.close())

interface Pace {
  readonly longestTaskMs: number
  readonly longestFrameMs: number
  readonly frames: number
}

/** Scrolls from one end of what is loaded to the other, a screenful and a half each frame, and gives how that went. */
const scroll = ({ page }: InspectorTab, frames: number): Promise<Pace> =>
  page.evaluate(async (frames) => {
    const grid = stage.element.shadowRoot?.querySelector('.grid')
    if (!grid) throw new Error('there is no list')
    const tasks: number[] = [0]
    const observer = new PerformanceObserver((list) => tasks.push(...list.getEntries().map(({ duration }) => duration)))
    observer.observe({ type: 'longtask' })
    let last = performance.now()
    let longest = 0
    for (let i = 1; i <= frames; i++) {
      grid.scrollTop = (i / frames) * (grid.scrollHeight - grid.clientHeight)
      const now = await new Promise<number>((resolve) => requestAnimationFrame(resolve))
      longest = Math.max(longest, now - last)
      last = now
    }
    observer.disconnect()
    return { longestTaskMs: Math.round(Math.max(...tasks)), longestFrameMs: Math.round(longest), frames }
  }, frames)

const rows = ({ page }: InspectorTab): Promise<number> => page.locator('.rows .row').count()

/** From the click on the tab to the frame with rows. */
const firstPaint = ({ page }: InspectorTab): Promise<number> =>
  page.evaluate(async () => {
    const root = stage.element.shadowRoot
    const begun = performance.now()
    root?.querySelector<HTMLElement>('#tab-tasks')?.click()
    while (!root?.querySelector('.rows .row')) await new Promise(requestAnimationFrame)
    await new Promise(requestAnimationFrame)
    return Math.round(performance.now() - begun)
  })

async function loadAll(tab: InspectorTab, total: string): Promise<number> {
  const begun = performance.now()
  await tab.page.getByRole('button', { name: 'Load all' }).click()
  await tab.says(`${total} tasks, oldest first`)
  return Math.round(performance.now() - begun)
}

test('100,000 tasks of a source that answers at once: no more rows are drawn than are seen', async () => {
  await using tab = await openInspector(browser, origin)
  await tab.page.evaluate(() => {
    stage.source = stage.fakeSource({ count: 100_000 })
    stage.put({ source: stage.source })
  })
  await tab.says('live')
  const paintMs = await firstPaint(tab)
  const loadMs = await loadAll(tab, '100,000')
  const drawn = await rows(tab)
  const pace = await scroll(tab, 120)
  expect(drawn).toBeLessThan(60)
  expect(await rows(tab)).toBeLessThan(60)
  await tab.page.getByRole('grid').focus()
  await tab.page.keyboard.press('End')
  await expect.poll(() => tab.page.getByRole('row').last().getAttribute('aria-rowindex')).toBe('100001')
  const search = await tab.page.evaluate(async () => {
    const input = stage.element.shadowRoot?.querySelector<HTMLInputElement>('[type=search]')
    const times: number[] = []
    for (const text of ['orders/99999?', 'orders/9999']) {
      const begun = performance.now()
      if (input) input.value = text
      input?.dispatchEvent(new Event('input'))
      await new Promise(requestAnimationFrame)
      times.push(Math.round(performance.now() - begun))
    }
    return times
  })
  await tab.says('fit, among 100,000 tasks')
  console.info(`fake source, 100,000 tasks: ${JSON.stringify({ paintMs, loadMs, drawn, ...pace, searchMs: search })}`)
})

test('a real queue with as many tasks as it takes in memory', { timeout: 300_000 }, async () => {
  const count = 100_000
  await using tab = await openInspector(browser, origin)
  const enqueueMs = await tab.page.evaluate(async (count) => {
    const queue = new stage.RetryQueue({ capacity: count, name: 'crowd' })
    queue.pause()
    const begun = performance.now()
    for (let n = 0; n < count; n += 1_000) {
      const calls = Array.from({ length: 1_000 }, (_, i) =>
        queue.enqueue(`/api/orders/${n + i}`, {
          method: 'POST',
          body: '{}',
          headers: { 'content-type': 'application/json' },
        }),
      )
      await Promise.all(calls)
    }
    const took = Math.round(performance.now() - begun)
    stage.put({ queue })
    return took
  }, count)
  await tab.says('Depth 100,000')
  const paintMs = await firstPaint(tab)
  const loadMs = await loadAll(tab, '100,000')
  const pace = await scroll(tab, 120)
  expect(await rows(tab)).toBeLessThan(60)
  await tab.page.getByRole('grid').focus()
  await tab.page.keyboard.press('End')
  await expect
    .poll(() => tab.page.getByRole('row').last().innerText())
    .toMatch(new RegExp(`/api/orders/${count - 1}\\s`))
  console.info(
    `a queue, 100,000 tasks: ${JSON.stringify({ enqueueMs, paintMs, loadMs, drawn: await rows(tab), ...pace })}`,
  )
})
