// The snippets of docs/lab.md and docs/inspector.md, each in a page of its own, as their readers copy them.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { launch } from '../browser/chromium.ts'
import { duringTests } from '../during.ts'
import { esbuilt } from './builds.ts'
import { consumer, install } from './consumer.ts'
import { flakyServer } from './flaky-server.ts'
import { root } from './pack.ts'
import { blocksOf } from './snippets.ts'

const pages = ['docs/lab.md', 'docs/inspector.md'].map((name) => readFileSync(join(root, name), 'utf8'))
const blocks = ['html', 'js', 'ts'].flatMap((kind) => pages.flatMap((text) => blocksOf(text, kind)))
const ran = new Set<string>()

const browser = duringTests(() => launch())

/** The snippet that holds `word`. */
function block(word: string): string {
  const found = blocks.filter((code) => code.includes(word))
  expect(found, `snippets with ${word}`).toHaveLength(1)
  const [code = ''] = found
  ran.add(code)
  return code
}

/** A page with the markup, whose scripts are bundled as a user would. */
async function open(
  markup: string,
  script: string,
): Promise<{ readonly page: Page; readonly said: readonly string[] }> {
  const html = `<!doctype html><html lang="en"><meta charset="utf-8"><title>t</title><link rel="icon" href="data:,"><body>${markup}<script type="module" src="/main.js"></script></body></html>`
  const project = consumer({ 'dist/index.html': html, 'main.ts': script })
  onTestFinished(() => project[Symbol.dispose]())
  install(project, '@redrive/ui')
  // as Vite sets it while one develops
  await esbuilt(project, { entryPoints: ['main.ts'], define: { 'import.meta.env.DEV': 'true' } })
  const site = await flakyServer(join(project.folder, 'dist'))
  onTestFinished(() => site[Symbol.asyncDispose]())
  const page = await browser.newPage()
  onTestFinished(() => page.close())
  const said: string[] = []
  page.on(
    'console',
    (message) => void (message.text().startsWith('Failed to load resource') || said.push(message.text())),
  )
  page.on('pageerror', (error) => said.push(String(error)))
  await page.goto(site.origin)
  return { page, said }
}

/** Markup with a script inside it, as two files. */
function split(code: string): readonly [markup: string, script: string] {
  const [, script = ''] = /<script type="module">([\s\S]*?)<\/script>/.exec(code) ?? []
  return [code.replace(/<script[\s\S]*<\/script>/, ''), script || "import '@redrive/ui'"]
}

test('the lab in a page', async () => {
  const { page, said } = await open(...split(block("'redrive-curve').policy")))
  await page.locator('figcaption', { hasText: 'Waits before each retry' }).waitFor()
  expect(await page.locator('redrive-curve #strategy').inputValue()).toBe('spread')
  expect(said).toEqual([])
})

test('the inspector of a queue in a page', async () => {
  const { page, said } = await open(...split(block("'redrive-inspector').queue")))
  await page.getByRole('tab', { name: /^Tasks/ }).waitFor()
  expect(said).toEqual([])
})

test('the button for development', async () => {
  const { page, said } = await open(
    '',
    `import { RetryQueue } from 'redrive'\nconst queue = new RetryQueue()\n${block('mountInspector(queue)')}`,
  )
  await page.getByRole('button', { name: /^Inspector of the queue/ }).click()
  await page.getByRole('tab', { name: /^Tasks/ }).waitFor()
  expect(said).toEqual([])
})

test('the inspector of a service that does not answer says so', async () => {
  const { page } = await open(...split(block('src="https://retry.example.com"')))
  await page
    .getByText(/retry\.example\.com/)
    .first()
    .waitFor()
})

test('a source of one’s own', async () => {
  const { page, said } = await open('', block('const source: InspectorSource'))
  await page.getByRole('tab', { name: /^Tasks/ }).waitFor()
  expect(said).toEqual([])
})

test('there is no snippet that no test has run', () => {
  expect(blocks.filter((code) => !ran.has(code))).toEqual([])
})
