/** Hostile text in everything that an inspector shows: it stays text, within its place, and steers nothing. */

import { expect, test } from 'vitest'
import { duringTests } from '../../during.ts'
import { launch } from '../chromium.ts'
import { labOrigin } from '../lab.ts'
import { openInspector } from './inspector-page.ts'

const origin = labOrigin()
const browser = duringTests(() => launch())

const MARKUP = '<img src=x onerror="stage.errors.push(\'xss\')"><script>stage.errors.push("xss")</script>'
const HOSTILE = `${MARKUP}\u202e\u0000"'\`\${1}</textarea>${'long'.repeat(300)}`

test('hostile markup in every field is text, in every view', async () => {
  await using tab = await openInspector(browser, origin, { viewport: { width: 400, height: 800 } })
  await tab.page.evaluate((hostile) => {
    const task = {
      ...stage.fakeTask(4, Date.now()),
      idempotencyKey: hostile,
      targetUrl: `https://api.example.com/${hostile}`,
      method: hostile,
      headers: { 'x-one': hostile, [hostile]: 'two' },
      withheldHeaders: [hostile],
      policyId: hostile,
      principal: hostile,
      tags: [hostile],
      meta: { [hostile]: hostile },
      orderKey: hostile,
      bodyRef: hostile,
      reason: hostile as never,
    }
    stage.source = stage.fakeSource({
      tasks: [task],
      warnings: [hostile],
      origins: [
        {
          origin: hostile,
          tenant: hostile,
          pending: 1,
          inFlight: 0,
          circuit: 'OPEN',
          heldUntilAt: null,
          retryBudget: 1,
        },
      ],
    })
    const { task: whole } = stage.source
    stage.source.task = async (id) => {
      const found = await whole(id)
      return (
        found && {
          ...found,
          attempts: [{ ...found.attempts[0], responseStatus: null, errorMessage: hostile, decision: hostile } as never],
          decisions: [{ at: 0, kind: hostile as never, text: hostile }],
        }
      )
    }
    stage.source.listen = (listener) => {
      stage.emit = listener
      return () => {}
    }
    stage.source.failAct = new Error(hostile)
    Object.assign(stage.source, { name: hostile })
    stage.put({ source: stage.source })
  }, HOSTILE)
  const shown = HOSTILE.replace('\u202e', '\\u202e').replace('\u0000', '\\u0000').replaceAll(/\s+/g, ' ')
  const isText = async () => {
    await tab.says(shown)
    const made = await tab.page.evaluate(
      () => stage.element.shadowRoot?.querySelectorAll('img, script, textarea').length,
    )
    expect(made).toBe(0)
    const isWide = await tab.page.evaluate(() => document.documentElement.scrollWidth > innerWidth)
    expect(isWide).toBe(false)
    expect((await tab.text()).split('\u202e')[1]?.slice(0, 80)).toBeUndefined()
  }
  await isText()
  await tab.page.getByRole('button', { name: 'Make all due' }).click()
  await expect.poll(() => tab.page.getByRole('alert').count()).toBe(1)
  await isText()
  await tab.page.evaluate((hostile) => stage.emit({ at: 0, kind: hostile, text: hostile, taskId: hostile }), HOSTILE)
  await tab.page.getByRole('tab', { name: 'Events' }).click()
  await isText()
  await tab.page.getByRole('tab', { name: 'Tasks' }).click()
  await isText()
  await tab.page.getByRole('row').nth(1).click()
  await tab.says('What it is')
  await isText()
  await tab.page.evaluate((hostile) => {
    stage.source.fail = new Error(hostile)
  }, HOSTILE)
  await tab.says('disconnected')
  await isText()
})
