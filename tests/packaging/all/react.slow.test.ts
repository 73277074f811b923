// examples/react as its reader has it, built by Vite: a list of tasks that every tab shows alike, and the words for each state.

import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterEach, expect, test } from 'vitest'
import { launch } from '../../browser/chromium.ts'
import { newContext } from '../../browser/contexts.ts'
import { duringTests } from '../../during.ts'
import { eventually } from '../../js/eventually.ts'
import { copyOf, examples, type Served, serve, start, vite } from '../example.ts'
import { modules } from './installed.ts'

const browser = duringTests(() => launch())

const errors: Error[] = []
afterEach(() => expect(errors.splice(0)).toEqual([]))

/** The example, built and served, with `instead` for `given` in its program. */
async function built(given = '', instead = given): Promise<{ readonly server: Served; open(): Promise<Page> }> {
  const folder = copyOf('react', ['react', 'react-dom', 'scheduler'], modules)
  const main = join(folder, 'main.jsx')
  const program = readFileSync(main, 'utf8')
  expect(program).toContain(given)
  writeFileSync(main, program.replace(given, instead))
  const [code] = await once(start(folder, vite, 'build', '--logLevel', 'warn'), 'close')
  expect(code).toBe(0)
  const server = await serve(join(folder, 'dist'))
  const context = await newContext(browser)
  const open = async () => {
    const page = await context.newPage()
    page.on('pageerror', (error) => errors.push(error))
    page.on(
      'console',
      (line) => line.type() === 'error' && /React|snapshot/i.test(line.text()) && errors.push(Error(line.text())),
    )
    await page.goto(server.url)
    return page
  }
  return { server, open }
}

const press = (page: Page, word: string) => page.getByRole('button', { name: word, exact: true }).first().click()
const rows = (page: Page) => page.locator('li output').allInnerTexts()

test('an order that is refused twice is listed while it waits, in every tab, and gone once it is sent', async () => {
  const { server, open } = await built()
  const [here, there] = [await open(), await open()]
  await here.getByText('Nothing waits. This tab has sent 0.').waitFor()
  await here.getByLabel('What').fill('Black tea')
  await press(here, 'Order')
  for (const page of [here, there]) {
    await page.getByText('Black tea').waitFor()
    await page.getByText('Waiting').waitFor()
  }
  for (const page of [here, there]) await page.getByText(/^Nothing waits\. This tab has sent [01]\.$/).waitFor()
  expect(await server.seen()).toEqual([{ attempts: 3, keys: 1, effects: 1 }])
})

test('what waits can be cancelled from another tab, and outlives the one that ordered it', async () => {
  const { server, open } = await built()
  await server.configure({ share: 1, maxFaults: 1_000 })
  const here = await open()
  await press(here, 'Order')
  await eventually(() => rows(here)).toEqual(['Waiting'])
  const there = await open()
  await eventually(() => rows(there)).toEqual(['Waiting'])
  await here.close()
  await press(there, 'Cancel')
  await there.getByText('Nothing waits.').waitFor()
})

test('an order whose time has come while there is no network is due now, and not at a time that is past', async () => {
  const { server, open } = await built()
  await server.configure({ share: 1, maxFaults: 1_000 })
  const page = await open()
  await press(page, 'Order')
  await page.getByText(/^Next at \d/).waitFor()
  await page.context().setOffline(true)
  await page.getByText('Next: now').waitFor()
})

test('a dead letter is shown, and can be sent again or deleted', async () => {
  const { server, open } = await built()
  await server.configure({ weights: { unavailable: 0, refused: 1 } })
  const page = await open()
  await press(page, 'Order')
  await eventually(() => rows(page)).toEqual(['Dead letter'])
  await server.configure({ share: 0 })
  await press(page, 'Send again')
  await page.getByText('Nothing waits. This tab has sent 1.').waitFor()
  await server.configure({ share: 1, weights: { unavailable: 0, refused: 1 } })
  await press(page, 'Order')
  await eventually(() => rows(page)).toEqual(['Dead letter'])
  await press(page, 'Delete')
  await page.getByText('Nothing waits. This tab has sent 1.').waitFor()
})

test('an order that could not be stored is told, and stays in the form', async () => {
  const { server, open } = await built()
  const page = await open()
  const what = page.getByLabel('What')
  await what.fill('tea '.repeat(2_000)) // more than meta may have
  await press(page, 'Order')
  await page.getByRole('alert').getByText('meta').waitFor()
  expect(await what.inputValue()).toBe('tea '.repeat(2_000))
  await what.fill('Black tea')
  await press(page, 'Order')
  await page.getByText('Nothing waits. This tab has sent 1.').waitFor()
  expect(await page.getByRole('alert').count()).toBe(0)
  expect(await what.inputValue()).toBe('Green tea')
  expect(await server.seen()).toHaveLength(1)
})

test('an order goes to an API of another origin', async () => {
  const other = await serve(examples)
  const { open } = await built(`'/api/orders/', location.href`, `'${other.url}/api/orders/'`)
  const page = await open()
  await press(page, 'Order')
  await page.getByText('Nothing waits. This tab has sent 1.').waitFor()
  expect(await other.seen()).toEqual([{ attempts: 3, keys: 1, effects: 1 }])
})

test('an order whose credential is gone waits for it, and shows no attempt that it has not had', async () => {
  const { server, open } = await built(`{ method: 'POST',`, `{ method: 'POST', headers: { authorization: 'Bearer x' },`)
  await server.configure({ share: 1, maxFaults: 1_000 })
  const page = await open()
  await press(page, 'Order')
  await eventually(() => rows(page)).toEqual(['Waiting'])
  await page.reload()
  await eventually(() => rows(page)).toEqual(['Waits for credentials'])
  expect(await page.locator('li small').innerText()).toBe('')
})
