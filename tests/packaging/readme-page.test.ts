// The README's recipe for a page, bundled as a user would, in a real browser.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as esbuild from 'esbuild'
import { expect, test } from 'vitest'
import { launch } from '../browser/chromium.ts'
import { consumer } from './consumer.ts'
import { flakyServer } from './flaky-server.ts'
import { root } from './pack.ts'

const page = `<!doctype html><meta charset="utf-8"><title>t</title>
<form><input name="place"><button>Send</button></form><script type="module" src="/main.js"></script>`

test('the recipe of the offline form', async () => {
  const readme = readFileSync(join(root, 'README.md'), 'utf8')
  const snippets = [...readme.matchAll(/```js\n(.*?)```/gs)].map(([, code]) => code ?? '')
  const [recipe = '', ...more] = snippets.filter((code) => code.includes('registerBackgroundSync'))
  expect(recipe).not.toBe('')
  expect(more).toEqual([])
  using project = consumer({ 'dist/index.html': page, 'main.js': recipe })
  const options = { bundle: true, splitting: true, format: 'esm', outdir: 'dist', logLevel: 'silent' } as const
  await esbuild.build({ absWorkingDir: project.folder, entryPoints: ['main.js'], ...options })
  await using server = await flakyServer(join(project.folder, 'dist'))
  await using browser = await launch()
  await using tab = await browser.newPage()
  await tab.goto(server.origin)
  await tab.fill('input', 'Bridge')
  await tab.click('button')
  await tab.waitForSelector('form[data-report="SUCCEEDED"]', { state: 'attached' })
  expect(await tab.inputValue('input')).toBe('')
  expect(server.hits('/api/reports')).toBe(2)
})
