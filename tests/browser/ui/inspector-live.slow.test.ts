/** A live queue in an outage: the inspector says what `get`, `explain` and `stats` say, also while it takes over from a tab that is killed. */

import { describe, expect, test } from 'vitest'
import { duringTests } from '../../during.ts'
import { eventually } from '../../js/eventually.ts'
import { engines, type Tab } from '../engines.ts'
import { labOrigin } from '../lab.ts'
import { CSP } from './inspector-page.ts'

const origin = labOrigin()

describe.each(engines)('%s', (name, start) => {
  const engine = duringTests(start)

  async function open(): Promise<Tab> {
    const tab = await engine.open(`${origin.url}/pages/inspector.html?csp=${encodeURIComponent(CSP)}`)
    await eventually(() => tab.run('globalThis.stage !== undefined')).toBe(true)
    return tab
  }

  test('another principal: nothing of the one before is shown', async () => {
    origin.answer = () => 503
    const tab = await open()
    const text = () => tab.run<string>('stage.text()')
    const click = (selector: string) => tab.run(`stage.element.shadowRoot.querySelector('${selector}').click()`)
    await tab.run(`stage.openQueue('whose-${name}').ready.then(() => void stage.put({ queue: stage.queue }))`)
    await tab.run("stage.queue.enqueue('/api/of-ann', { method: 'POST' }).then(() => {})")
    await eventually(text).toContain('live')
    await click('#tab-tasks')
    await eventually(text).toContain('1 task,')
    await click('#row-0')
    await eventually(text).toContain('principal ann')
    await tab.run("stage.queue.setPrincipal('ben')")
    await eventually(text).not.toContain('of-ann')
    await click('#tab-events')
    expect(await text()).not.toContain('of-ann')
  })

  test('an outage with another tab killed in it', { timeout: 120_000 }, async () => {
    origin.answer = () => 503
    const queue = `live-${name}`
    const working = await open()
    await working.run(`stage.openQueue('${queue}').ready`)
    const taskIds = await working.run<string[]>(
      `Promise.all([1, 2, 3, 4].map((n) => stage.queue.enqueue('/api/orders/' + n, { method: 'POST', body: '{}' }).then((got) => got.taskId)))`,
    )
    const tab = await open()
    const counting = 'globalThis.sent = 0, { fetch: (...given) => { sent++; return fetch(...given) } }'
    await tab.run(`stage.openQueue('${queue}', (${counting})).ready.then(() => void stage.put({ queue: stage.queue }))`)
    const text = () => tab.run<string>('stage.text()')
    const click = (selector: string) => tab.run(`stage.element.shadowRoot.querySelector('${selector}').click()`)
    const unsaid = () => tab.run<string[]>(`stage.unsaid('${taskIds[0]}')`)
    const unended = (shown: string) =>
      ['Waiting', 'In flight'].reduce((sum, name) => sum + Number(new RegExp(`${name} (\\d+)`).exec(shown)?.[1]), 0)
    await eventually(async () => unended(await text())).toBe(4)
    await eventually(text).toContain(origin.url)

    // the first of four, by its place in the list
    await click('#tab-tasks')
    await eventually(text).toContain('4 tasks, oldest first')
    await click('#row-0')
    await eventually(unsaid).toEqual([])
    const sent = await tab.run<number>('sent')

    await (working.kill ?? working.close)()
    // asked for: how long the gates hold an attempt back, and of which task it is, depends on how long the outage has lasted
    await eventually(() => tab.run<number>('stage.queue.flush().then(() => sent)')).toBeGreaterThan(sent)
    await eventually(unsaid).toEqual([])
    expect(await text()).toMatch(/waiting|in flight/)

    // the server asks for a wait; the gates let one attempt out to hear it, since that is asked for
    origin.answer = () => (response) => response.writeHead(503, { 'retry-after': '3' }).end()
    await click('#tab-overview')
    const flush = async (): Promise<string> => {
      await tab.run("stage.press('Make all due')")
      return text()
    }
    await eventually(flush).toMatch(/held by Retry-After, ends in \d+s/)
    const states = await tab.run<('CLOSED' | 'HALF_OPEN' | 'OPEN')[]>(
      'Object.values(stage.queue.stats().origins).map(({ circuit }) => circuit)',
    )
    const word = { CLOSED: 'closed', HALF_OPEN: 'half-open', OPEN: 'open' }[states[0] ?? 'CLOSED']
    await eventually(text).toContain(`circuit ${word}`)

    origin.answer = () => 200
    await eventually(async () => unended(await flush())).toBe(0)
    await click('#tab-tasks')
    await eventually(unsaid).toEqual([])
    expect(await text()).toContain('succeeded')
    await click('#tab-events')
    await eventually(text).toMatch(/succeeded POST http/)
    expect(await tab.run('stage.violations.concat(stage.errors)')).toEqual([])
  })
})
