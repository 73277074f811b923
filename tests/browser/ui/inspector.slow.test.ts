/** The inspector over a source that does as the test says: what it shows in each state, what it does, and what it never does. */

import { describe, expect, test } from 'vitest'
import { duringTests } from '../../during.ts'
import { launch } from '../chromium.ts'
import { labOrigin } from '../lab.ts'
import { type InspectorTab, openFake, openInspector } from './inspector-page.ts'

const origin = labOrigin()
const browser = duringTests(() => launch())

const opened = (options: object = {}, properties: object = {}): Promise<InspectorTab> =>
  openFake(browser, origin, options, properties)

describe('states', () => {
  test('without anything to look at it says how to give it something', async () => {
    await using tab = await openInspector(browser, origin)
    await tab.page.evaluate(() => void stage.put())
    await tab.says('Set the property queue to a RetryQueue, source to an InspectorSource, or the attribute src')
  })

  test('while the first answer is awaited there is a skeleton, which does not move where motion is not wanted', async () => {
    await using tab = await openInspector(browser, origin, { reducedMotion: 'reduce' })
    await tab.show({ hang: true })
    await tab.says('connecting')
    expect(await tab.page.locator('.bone').count()).toBeGreaterThan(3)
    expect(await tab.page.locator('.numbers').getAttribute('aria-busy')).toBe('true')
    const moves = await tab.page
      .locator('.bone')
      .first()
      .evaluate((bone) => getComputedStyle(bone).animationName)
    expect(moves).toBe('none')
  })

  test('empty, each list says what would be there', async () => {
    await using tab = await opened({ count: 0, succeeded: 5 })
    await tab.says('No origins yet.')
    await tab.page.getByRole('tab', { name: 'Tasks' }).click()
    await tab.says('No task here.')
    await tab.page.getByRole('button', { name: 'dead letters' }).click()
    await tab.says('No dead letters. Tasks that were given up show here')
    await tab.page.getByRole('tab', { name: 'Events' }).click()
    await tab.says('Nothing has happened since this was opened')
  })

  test('a source that fails: since when, what, the last numbers, and live again once it answers', async () => {
    await using tab = await opened()
    await tab.says('live')
    await tab.page.evaluate(() => void Object.assign(stage.source, { fail: new Error('the store is locked') }))
    await tab.says(
      /disconnected.*the store is locked.*It has failed for \d+s; asked again in \d+s\. What is below is from before\./,
    )
    await tab.says('Waiting 30')
    await tab.page.evaluate(() => void Object.assign(stage.source, { fail: undefined }))
    await tab.page.getByRole('button', { name: 'Ask now' }).click()
    await tab.says('live')
    expect(await tab.text()).not.toContain('the store is locked')
  })

  test('a token is asked for, given to the source, and left nowhere', async () => {
    await using tab = await openInspector(browser, origin)
    const given = await tab.page.evaluateHandle(() => {
      const given: string[] = []
      stage.source = stage.fakeSource()
      stage.source.fail = new stage.InspectorError('the request has no token', { needsToken: true })
      stage.source.authorize = (token) => {
        given.push(token)
        stage.source.fail = undefined
      }
      stage.put({ source: stage.source })
      return given
    })
    await tab.says('token needed')
    await tab.page.getByLabel('Token').fill('rd_secret')
    await tab.page.keyboard.press('Enter')
    await tab.says('live')
    expect(await given.jsonValue()).toEqual(['rd_secret'])
    const left = await tab.page.evaluate(() => [
      stage.element.outerHTML + stage.element.shadowRoot?.innerHTML,
      JSON.stringify({ ...localStorage, ...sessionStorage }),
      document.cookie,
      location.href,
    ])
    expect(left.join()).not.toContain('rd_secret')
  })

  test('another source: nothing of the one before is left', async () => {
    await using tab = await opened()
    await tab.page.getByRole('tab', { name: 'Tasks' }).click()
    await tab.says('v1/orders')
    await tab.page.evaluate(() => {
      stage.element.source = stage.fakeSource({
        tasks: [{ ...stage.fakeTask(1, Date.now()), targetUrl: 'https://other.test/x' }],
      })
    })
    await tab.says('other.test')
    expect(await tab.text()).not.toContain('v1/orders')
  })

  test('taken out of the page it asks no more, and put back it goes on', async () => {
    await using tab = await openInspector(browser, origin)
    await tab.page.clock.install()
    await tab.show()
    await tab.says('live')
    const asked = () => tab.page.evaluate(() => stage.source.asked)
    await tab.page.evaluate(() => stage.element.remove())
    const before = await asked()
    await tab.page.clock.runFor(60_000)
    expect(await asked()).toBe(before)
    await tab.page.evaluate(() => document.body.append(stage.element))
    await expect.poll(asked).toBeGreaterThan(before)
  })
})

describe('tasks', () => {
  test('by status, by origin and method, and by words', async () => {
    await using tab = await opened({ count: 600 })
    await tab.page.getByRole('tab', { name: 'Tasks' }).click()
    await tab.says('200 loaded, and there are more, oldest first')
    await tab.page.getByRole('button', { name: 'dead letters 100' }).click()
    await tab.says('100 tasks, oldest first')
    await tab.page.getByLabel('Origin').selectOption('https://pay.example.com')
    await tab.says(/\D100 tasks/)
    await tab.page.getByLabel('Method').selectOption('GET')
    await tab.says('0 fit, among 100 tasks')
    await tab.says('No task fits the search.')
    await tab.page.getByLabel('Method').selectOption('')
    await tab.page.getByRole('searchbox').fill('orders/10?')
    await tab.says('1 fit, among 100 tasks')
    expect(await tab.page.getByRole('row').nth(1).innerText()).toContain('pay.example.com/v1/orders/10?expand=lines')
  })

  test('a search says how many it has looked at, and looks at all when it is asked to', async () => {
    await using tab = await opened({ count: 3_000 })
    await tab.page.getByRole('tab', { name: 'Tasks' }).click()
    await tab.page.getByRole('searchbox').fill('orders/2999?')
    await tab.says('0 fit, among 200 loaded')
    await tab.page.getByRole('button', { name: 'Load all' }).click()
    await tab.says('1 fit, among 3,000 tasks')
  })

  test('an id opens its task, loaded or not', async () => {
    await using tab = await opened({ count: 3_000 })
    await tab.page.getByRole('tab', { name: 'Tasks' }).click()
    await tab.page.getByRole('searchbox').fill(await tab.page.evaluate(() => stage.ID(2_500)))
    await tab.page.keyboard.press('Enter')
    await tab.says('order-2500')
  })

  test('one task: its course as a picture with words for it, and all that is known but its body', async () => {
    await using tab = await opened()
    await tab.page.getByRole('tab', { name: 'Tasks' }).click()
    await tab.page.getByRole('row').nth(1).click()
    const picture = tab.page.getByRole('img', { name: 'Its course' })
    expect(await picture.getAttribute('aria-label')).toContain(
      'attempt 1: 503, after 40ms; waited 1s; attempt 2: connect ECONNREFUSED',
    )
    expect(await picture.getAttribute('aria-label')).toContain('waited 21s, as its server asked')
    const text = await tab.text()
    for (const words of [
      '503, Retry-After 20 s; next in 21 s (the curve alone: 4 s)',
      "waits for its origin's circuit breaker, which is open",
      'order-0',
      'content-type application/json',
      'Withheld, neither stored nor shown: authorization',
      'body there is one; it is not shown',
    ]) {
      expect(text).toContain(words)
    }
  })

  test('behind a gate it says what holds it and when that ends, in the list, on its page, and for its origin', async () => {
    await using tab = await opened()
    await tab.says(/pay\.example\.com.*held by the open circuit, next probe in \d+s/)
    await tab.says(/api\.example\.com.*next attempt in 4s/)
    await tab.page.getByRole('tab', { name: 'Tasks' }).click()
    const row = tab.page.getByRole('row').filter({ hasText: 'pay.example.com/v1/orders/1?' })
    await row.getByText(/^held by the open circuit, next probe in \d+s$/).waitFor()
    await row.click()
    await tab.page
      .getByRole('region', { name: 'Task' })
      .getByText(/^held by the open circuit, next probe in \d+s$/)
      .waitFor()
  })

  test('a click is for the row that was pressed, though the list moves before the button is released', async () => {
    await using tab = await opened({ count: 60 })
    await tab.page.getByRole('tab', { name: 'Tasks' }).click()
    const row = tab.page.getByRole('row').filter({ hasText: 'orders/3?' })
    const { x, y } = (await row.boundingBox()) ?? { x: 0, y: 0 }
    await tab.page.mouse.move(x + 30, y + 10)
    await tab.page.mouse.down()
    await tab.page.evaluate(() => {
      for (let n = 0; n < 2; n++) stage.source.all.unshift(stage.fakeTask(100 + n, Date.now()))
    })
    await expect.poll(async () => ((await row.boundingBox())?.y ?? 0) > y + 20, { timeout: 10_000 }).toBe(true)
    await tab.page.mouse.up()
    await tab.says('id 0199a3b4-6c58-7000-8a4f-000000000003')
  })

  test('the node of a row stays that of its task while the list scrolls', async () => {
    await using tab = await opened({ count: 200 })
    await tab.page.getByRole('tab', { name: 'Tasks' }).click()
    const row = tab.page.getByRole('row').filter({ hasText: 'orders/15?' })
    const node = await row.elementHandle()
    await tab.page.getByRole('grid').evaluate((grid) => grid.scrollTo(0, 300))
    await tab.page.getByRole('row').filter({ hasText: 'orders/30?' }).waitFor()
    expect(await node?.textContent()).toContain('orders/15?')
  })

  test('a task that is not kept any more is still shown, and said to be gone', async () => {
    await using tab = await opened()
    await tab.page.getByRole('tab', { name: 'Tasks' }).click()
    await tab.page.getByRole('row').nth(1).click()
    await tab.says('order-0')
    await tab.page.evaluate(() => void stage.source.all.shift())
    await tab.says('It is not kept any more; this is what it was.')
    expect(await tab.page.getByRole('button', { name: 'Cancel', exact: true }).count()).toBe(0)
  })

  test('keyboard alone: from the tabs into the list, along it, into a task and back', async () => {
    await using tab = await opened({ count: 600 })
    const { keyboard } = tab.page
    const focus = () =>
      tab.page.evaluate(() => {
        const at = stage.element.shadowRoot?.activeElement
        return (
          at && `${at.getAttribute('role') ?? at.localName} ${at.getAttribute('aria-label') ?? at.textContent?.trim()}`
        )
      })
    await tab.says('live')
    await keyboard.press('Tab')
    expect(await focus()).toBe('tab Overview')
    await keyboard.press('ArrowRight')
    expect(await focus()).toBe('tab Tasks')
    await tab.page.waitForSelector('.rows .row')
    for (let i = 0; i < 20 && !(await focus())?.startsWith('grid'); i++) await keyboard.press('Tab')
    expect(await focus()).toBe('grid Tasks')
    const active = () =>
      tab.page.evaluate(() => {
        const grid = stage.element.shadowRoot?.querySelector('[role=grid]')
        const row = grid?.querySelector(`#${grid.getAttribute('aria-activedescendant')}`)
        const box = row?.getBoundingClientRect()
        const room = grid?.getBoundingClientRect()
        const isSeen = box && room && box.top >= room.top && box.bottom <= room.bottom
        return [row?.getAttribute('aria-rowindex'), isSeen]
      })
    expect(await active()).toEqual(['2', true])
    await keyboard.press('ArrowDown')
    await keyboard.press('ArrowDown')
    expect(await active()).toEqual(['4', true])
    await keyboard.press('End')
    await expect.poll(active).toEqual(['201', true])
    await keyboard.press('Home')
    await expect.poll(active).toEqual(['2', true])
    await keyboard.press('Enter')
    await expect.poll(focus).toContain('h2 POST https://api.example.com/v1/orders/0')
    await keyboard.press('Tab')
    expect(await focus()).toBe('button Close the task')
    await keyboard.press('Escape')
    await expect.poll(focus).toBe('grid Tasks')
    expect(await tab.page.getByRole('region', { name: 'Task' }).count()).toBe(0)
  })
})

describe('events', () => {
  test('what differs between two looks, where a source has no events', async () => {
    await using tab = await opened()
    await tab.page.getByRole('tab', { name: 'Events' }).click()
    await tab.says('What changed between two looks')
    await tab.says(/succeeded \d+ tasks/)
  })

  test('paused it shows what it had, and how many it has missed', async () => {
    await using tab = await openInspector(browser, origin)
    await tab.page.evaluate(() => {
      stage.source = stage.fakeSource()
      stage.source.listen = (listener) => {
        stage.emit = listener
        return () => {}
      }
      stage.put({ source: stage.source })
    })
    await tab.says('live')
    await tab.page.getByRole('tab', { name: 'Events' }).click()
    const emit = (text: string) =>
      tab.page.evaluate((text) => stage.emit({ at: Date.now(), kind: 'retry', text, taskId: stage.ID(0) }), text)
    await emit('the first')
    await tab.says('the first')
    await tab.page.getByRole('button', { name: 'Pause', exact: true }).click()
    await emit('the second')
    await tab.says('1 event since')
    expect(await tab.text()).not.toContain('the second')
    await tab.page.getByRole('button', { name: 'Resume', exact: true }).click()
    await tab.says('the second')
    await tab.page
      .getByRole('button', { name: /^Open task/ })
      .first()
      .click()
    await tab.says('order-0')
  })
})

describe('the button for development', () => {
  test('shows depth and dead letters, opens and closes, and is gone after close()', async () => {
    await using tab = await openInspector(browser, origin)
    const mounted = await tab.page.evaluateHandle(() => {
      stage.source = stage.fakeSource()
      return stage.mountInspector(undefined as never, { source: stage.source })
    })
    const button = tab.page.getByRole('button', { name: 'Inspector of the queue: 30 waiting · 10 dead letters' })
    await button.waitFor()
    const panel = tab.page.getByRole('dialog', { name: 'Inspector' })
    expect(await panel.count()).toBe(0)
    await button.focus()
    await tab.page.keyboard.press('Enter')
    expect(await button.getAttribute('aria-expanded')).toBe('true')
    await panel.getByRole('tab', { name: 'Tasks' }).click()
    await panel.getByRole('row').nth(1).click()
    await panel.getByRole('region', { name: 'Task' }).waitFor()
    await tab.page.keyboard.press('Escape') // the task
    expect(await panel.count()).toBe(1)
    await tab.page.keyboard.press('Escape') // the panel
    expect(await panel.count()).toBe(0)
    const focused = () => tab.page.evaluate(() => document.activeElement?.shadowRoot?.activeElement?.className)
    expect(await focused()).toBe('open')
    await tab.page.keyboard.press('Enter')
    await tab.page.keyboard.press('Tab') // the first thing in the panel closes it
    await tab.page.keyboard.press('Enter')
    expect(await panel.count()).toBe(0)
    expect(await focused()).toBe('open')
    await button.click()
    await panel.getByRole('button', { name: 'Close the inspector' }).click()
    expect(await panel.count()).toBe(0)
    await mounted.evaluate(({ close }) => close())
    expect(await button.count()).toBe(0)
  })
})
