/** What axe-core finds wrong with the inspector: nothing, in any view, light and dark, on a phone and on a desk. */

import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { duringTests } from '../../during.ts'
import { here, launch } from '../chromium.ts'
import { labOrigin } from '../lab.ts'
import { type InspectorTab, openInspector } from './inspector-page.ts'

const axe = readFileSync(here('../../node_modules/axe-core/axe.min.js'), 'utf8')
const origin = labOrigin()
const browser = duringTests(() => launch())

interface Found {
  readonly violations: readonly { readonly id: string; readonly nodes: readonly { readonly html: string }[] }[]
  readonly passes: readonly { readonly id: string }[]
}

async function judge({ page }: InspectorTab, view: string, part = 'main'): Promise<void> {
  // in a world of its own, where the policy of the page does not apply
  const session = await page.context().newCDPSession(page)
  const { frameTree } = (await session.send('Page.getFrameTree')) as { frameTree: { frame: { id: string } } }
  const { executionContextId } = await session.send('Page.createIsolatedWorld', { frameId: frameTree.frame.id })
  await session.send('Runtime.evaluate', { expression: axe, contextId: executionContextId })
  const { result } = await session.send('Runtime.evaluate', {
    expression: `axe.run(document.querySelector('${part}')).then((found) => JSON.stringify(found))`,
    contextId: executionContextId,
    awaitPromise: true,
    returnByValue: true,
  })
  const found = JSON.parse(result.value as string) as Found
  const wrong = found.violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`))
  expect({ view, wrong }).toEqual({ view, wrong: [] })
  // it has looked inside
  expect(found.passes.map(({ id }) => id)).toContain('color-contrast')
  await session.detach()
}

const screens = (['light', 'dark'] as const).flatMap((colorScheme) =>
  [360, 1_440].map((width) => ({ colorScheme, width })),
)

test.each(screens)('$colorScheme, $width px wide', async ({ colorScheme, width }) => {
  await using tab = await openInspector(browser, origin, { colorScheme, viewport: { width, height: 800 } })
  const { page } = tab
  await tab.show({ count: 600, warnings: ['The store has failed for 4s.'] })
  await tab.says('live')
  await judge(tab, 'overview')
  await page.getByRole('tab', { name: 'Tasks' }).click()
  await page.waitForSelector('.rows .row')
  await judge(tab, 'list')
  await page.getByRole('row').nth(1).click()
  await tab.says('What it is')
  await judge(tab, 'task')
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: /^dead letters/ }).click()
  await page.waitForSelector('.rows .row')
  await judge(tab, 'dead letters')
  for (const name of ['Redrive all…', 'Delete all…']) {
    await page.getByRole('button', { name }).click()
    await judge(tab, name)
    await page.keyboard.press('Escape')
  }
  await page.getByRole('searchbox').fill('nowhere')
  await tab.says('No task fits the search.')
  await judge(tab, 'empty')
  await page.getByRole('tab', { name: 'Events' }).click()
  await tab.says(/succeeded \d+ tasks/)
  await judge(tab, 'events')
  await page.evaluate(() => void Object.assign(stage.source, { failAct: new Error('the store is full') }))
  await page.getByRole('tab', { name: 'Overview' }).click()
  await page.getByRole('button', { name: 'Make all due' }).click()
  await tab.says('the store is full')
  await judge(tab, 'a failed action')
  await page.evaluate(() => void Object.assign(stage.source, { fail: new Error('the store is locked') }))
  await tab.says('disconnected')
  await judge(tab, 'disconnected')
  await page.evaluate(() => stage.element.remove())
  await tab.show({ can: { flush: 'this needs the scope admin' } })
  await tab.says('Not allowed')
  await judge(tab, 'refused')
  await page.evaluate(() => {
    stage.source.authorize = () => {}
    stage.source.fail = new stage.InspectorError('the request has no token', { needsToken: true })
  })
  await tab.says('token needed')
  await judge(tab, 'token')
  await page.evaluate(() => stage.element.remove())
  await tab.show({ hang: true })
  await tab.says('connecting')
  await judge(tab, 'loading')
})

test.each(screens)('the button for development, $colorScheme, $width px wide', async ({ colorScheme, width }) => {
  await using tab = await openInspector(browser, origin, { colorScheme, viewport: { width, height: 800 } })
  const { page } = tab
  await page.evaluate(() => {
    stage.source = stage.fakeSource()
    stage.mountInspector(undefined as never, { source: stage.source })
  })
  const button = page.getByRole('button', { name: 'Inspector of the queue: 30 waiting · 10 dead letters' })
  await button.waitFor()
  await judge(tab, 'the button', 'body > div:last-child')
  await button.click()
  await page.getByRole('dialog', { name: 'Inspector' }).getByRole('tab', { name: 'Tasks' }).waitFor()
  await judge(tab, 'the panel', 'body > div:last-child')
})
