/**
 * A live queue in an outage, in Chromium and Firefox: the inspector says what `get`, `explain` and `stats` say, also while another tab that works on
 * the same tasks is killed and this one takes over.
 */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../js/eventually.ts'
import { launch } from '../chromium.ts'
import { firefox, type Tab } from '../engines.ts'
import { labOrigin } from '../lab.ts'
import { listenDuringTests } from '../origins.ts'
import { CSP } from './inspector-page.ts'

const origin = labOrigin()
listenDuringTests(origin)

interface Killer {
  open(url: string): Promise<Tab>
  /** The tab is gone without a word to its page, as far as the browser lets it be. */
  kill(tab: Tab): Promise<void>
  close(): Promise<unknown>
}

async function chromium(): Promise<Killer> {
  const browser = await launch()
  const context = await browser.newContext()
  const pages = new Map<Tab, Page>()
  return {
    async open(url) {
      const page = await context.newPage()
      await page.goto(url)
      const tab: Tab = {
        run: (expression) => page.evaluate(expression),
        reload: () => page.reload(),
        close: () => page.close(),
      }
      pages.set(tab, page)
      return tab
    },
    async kill(tab) {
      const page = pages.get(tab)
      if (!page) throw new Error('no such tab')
      const session = await context.newCDPSession(page)
      const crashed = page.waitForEvent('crash')
      session.send('Page.crash').catch(() => {}) // the answer dies with the page
      await crashed
    },
    close: () => browser.close(),
  }
}

const engines: readonly (readonly [string, () => Promise<Killer>])[] = [
  ['Chromium', chromium],
  ['Firefox', async () => ({ ...(await firefox()), kill: async (tab) => void (await tab.close()) })],
]

describe.each(engines)('%s', (name, start) => {
  let engine: Killer
  beforeAll(async () => {
    engine = await start()
  })
  afterAll(() => engine?.close())

  async function open(): Promise<Tab> {
    const tab = await engine.open(`${origin.url}/pages/inspector.html?csp=${encodeURIComponent(CSP)}`)
    await eventually(() => tab.run('globalThis.stage !== undefined')).toBe(true)
    return tab
  }

  test('an outage with another tab killed in it', { timeout: 120_000 }, async () => {
    origin.reset()
    origin.answer = () => 503
    const queue = `live-${name}`
    const working = await open()
    await working.run(`stage.openQueue('${queue}').ready`)
    const taskIds = await working.run<string[]>(
      `Promise.all([1, 2, 3, 4].map((n) => stage.queue.enqueue('/api/orders/' + n, { method: 'POST', body: '{}' }).then((got) => got.taskId)))`,
    )
    const tab = await open()
    await tab.run(`stage.openQueue('${queue}').ready.then(() => void stage.put({ queue: stage.queue }))`)
    const text = () => tab.run<string>('stage.text()')
    const click = (selector: string) => tab.run(`stage.element.shadowRoot.querySelector('${selector}').click()`)
    const unsaid = () => tab.run<string[]>(`stage.unsaid('${taskIds[0]}')`)
    await eventually(text).toContain('Depth 4')
    await eventually(text).toContain(origin.url)

    // the first of four, by its place in the list
    await click('#tab-tasks')
    await eventually(text).toContain('4 tasks, oldest first')
    await click('#row-0')
    await eventually(unsaid).toEqual([])
    const attempts = () => tab.run<number>(`stage.queue.get('${taskIds[0]}').then((task) => task.attemptNumber)`)
    const seen = await attempts()

    await engine.kill(working)
    // this tab sends them now, and what it is told goes on being what is shown
    await eventually(attempts).toBeGreaterThan(seen)
    await eventually(unsaid).toEqual([])
    expect(await text()).toMatch(/waiting|in flight/)

    // the server asks for a wait; the gates let one attempt out to hear it, since that is asked for
    origin.answer = () => (response) => response.writeHead(503, { 'retry-after': '3' }).end()
    await click('#tab-overview')
    const flush = async (): Promise<string> => {
      await tab.run("stage.press('Make all due')")
      return text()
    }
    await eventually(flush).toMatch(/held \d+s/)
    const states = await tab.run<('CLOSED' | 'HALF_OPEN' | 'OPEN')[]>(
      'Object.values(stage.queue.stats().origins).map(({ circuit }) => circuit)',
    )
    const word = { CLOSED: 'closed', HALF_OPEN: 'half-open', OPEN: 'open' }[states[0] ?? 'CLOSED']
    await eventually(text).toContain(`circuit ${word}`)

    origin.answer = () => 200
    await eventually(flush).toContain('Depth 0')
    await click('#tab-tasks')
    await eventually(unsaid).toEqual([])
    expect(await text()).toContain('succeeded')
    await click('#tab-events')
    await eventually(text).toMatch(/succeeded POST http/)
    expect(await tab.run('stage.violations.concat(stage.errors)')).toEqual([])
  })
})
