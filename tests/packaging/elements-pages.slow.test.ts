// The snippets of docs/lab.md and docs/inspector.md, each in a page of its own, as their readers copy them.

import { expect, test } from 'vitest'
import { launch } from '../browser/chromium.ts'
import { duringTests } from '../during.ts'
import { type Heard, heard, served } from './browser.ts'
import { consumer, install } from './consumer.ts'
import { blocksOf, docs, eachOnce } from './snippets.ts'

const pages = ['lab.md', 'inspector.md'].map(docs)
const snippets = eachOnce(['html', 'js', 'ts'].flatMap((kind) => pages.flatMap((text) => blocksOf(text, kind))))

const browser = duringTests(() => launch())

/** A page with the markup, whose scripts are bundled as a user would. */
async function open(markup: string, script: string): Promise<Heard> {
  const html = `<!doctype html><html lang="en"><meta charset="utf-8"><title>t</title><link rel="icon" href="data:,"><body>${markup}<script type="module" src="/main.js"></script></body></html>`
  const project = consumer({ 'dist/index.html': html, 'main.ts': script })
  install(project, '@redrive/ui')
  // as Vite sets it while one develops
  const site = await served(project, { entryPoints: ['main.ts'], define: { 'import.meta.env.DEV': 'true' } })
  return await heard(browser, site)
}

/** Markup with a script inside it, as two files. */
function split(code: string): readonly [markup: string, script: string] {
  const [, script = ''] = /<script type="module">([\s\S]*?)<\/script>/.exec(code) ?? []
  return [code.replace(/<script[\s\S]*<\/script>/, ''), script || "import '@redrive/ui'"]
}

test('the lab in a page', async () => {
  const { page, said } = await open(...split(snippets.take("'redrive-curve').policy")))
  await page.locator('figcaption', { hasText: 'Waits before each retry' }).waitFor()
  expect(await page.locator('redrive-curve #strategy').inputValue()).toBe('spread')
  expect(said).toEqual([])
})

test('the inspector of a queue in a page', async () => {
  const { page, said } = await open(...split(snippets.take("'redrive-inspector').queue")))
  await page.getByRole('tab', { name: /^Tasks/ }).waitFor()
  expect(said).toEqual([])
})

test('the button for development', async () => {
  const { page, said } = await open(
    '',
    `import { RetryQueue } from 'redrive'\nconst queue = new RetryQueue()\n${snippets.take('mountInspector(queue)')}`,
  )
  await page.getByRole('button', { name: /^Inspector of the queue/ }).click()
  await page.getByRole('tab', { name: /^Tasks/ }).waitFor()
  expect(said).toEqual([])
})

test('the inspector of a service that does not answer says so', async () => {
  const { page } = await open(...split(snippets.take('src="https://retry.example.com"')))
  await page
    .getByText(/retry\.example\.com/)
    .first()
    .waitFor()
})

test('a source of one’s own', async () => {
  const { page, said } = await open('', snippets.take('const source: InspectorSource'))
  await page.getByRole('tab', { name: /^Tasks/ }).waitFor()
  expect(said).toEqual([])
})

test('there is no snippet that no test has run', () => {
  expect(snippets.left()).toEqual([])
})
