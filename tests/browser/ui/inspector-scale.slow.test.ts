/** 100,000 tasks: what is drawn stays a screenful. */

import { expect, test } from 'vitest'
import { duringTests } from '../../during.ts'
import { launch } from '../chromium.ts'
import { labOrigin } from '../lab.ts'
import { openInspector } from './inspector-page.ts'

const origin = labOrigin()
const browser = duringTests(() => launch())

const COUNT = 100_000
const sources = {
  'a source that answers at once': () => stage.put({ source: stage.fakeSource({ count: 100_000 }) }),
  'a real queue': async () => {
    const queue = new stage.RetryQueue({ capacity: 100_000, name: 'crowd' })
    queue.pause()
    for (let n = 0; n < 100_000; n += 1_000) {
      const calls = Array.from({ length: 1_000 }, (_, i) => queue.enqueue(`/api/orders/${n + i}`, { method: 'POST' }))
      await Promise.all(calls)
    }
    stage.put({ queue })
  },
}

test.for(Object.entries(sources))(
  'of %s: no more rows are drawn than are seen',
  { timeout: 300_000 },
  async ([, put]) => {
    await using tab = await openInspector(browser, origin)
    const rows = tab.page.locator('.rows .row')
    await tab.page.evaluate(put as () => Promise<void>)
    await tab.page.getByRole('tab', { name: 'Tasks' }).click()
    await tab.page.getByRole('button', { name: 'Load all' }).click()
    await tab.says('100,000 tasks, oldest first')
    expect(await rows.count()).toBeLessThan(60)
    await tab.page.evaluate(async (frames) => {
      const grid = stage.element.shadowRoot?.querySelector('.grid')
      if (!grid) throw new Error('there is no list')
      for (let i = 1; i <= frames; i++) {
        grid.scrollTop = (i / frames) * (grid.scrollHeight - grid.clientHeight)
        await new Promise(requestAnimationFrame)
      }
    }, 120)
    expect(await rows.count()).toBeLessThan(60)
    await tab.page.getByRole('grid').focus()
    await tab.page.keyboard.press('End')
    const last = tab.page.getByRole('row').last()
    await expect.poll(() => last.getAttribute('aria-rowindex')).toBe(`${COUNT + 1}`)
    expect(await last.innerText()).toMatch(new RegExp(`orders/${COUNT - 1}\\D`))
    await tab.page.getByRole('searchbox').fill('orders/9999')
    await tab.says('fit, among 100,000 tasks')
  },
)

test('the numbers beside a chart have room, however long they are', async () => {
  await using tab = await openInspector(browser, origin)
  await tab.page.evaluate(sources['a source that answers at once'])
  const room = () =>
    tab.page.evaluate(() => {
      const charts = stage.element.shadowRoot?.querySelectorAll('redrive-chart') ?? []
      const plot = [...charts].at(-1)?.shadowRoot?.querySelector<HTMLElement>('.u-over')
      const context = document.createElement('canvas').getContext('2d')
      if (!plot || !context) return 'nothing is drawn'
      context.font = '11px system-ui, sans-serif'
      const gap = 5
      return plot.offsetLeft >= context.measureText('100,000').width + gap ? 'enough' : `${plot.offsetLeft} px`
    })
  await expect.poll(room).toBe('enough')
})
