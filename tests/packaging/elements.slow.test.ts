// @redrive/ui as pages get it: through each bundler with its own settings, the lab computes, in its Worker where the bundler brings the file along and on
// the page where it does not; and a server that renders a page may import it.

import { join } from 'node:path'
import { expect, test } from 'vitest'
import { launch } from '../browser/chromium.ts'
import { duringTests } from '../during.ts'
import { runPage } from './browser.ts'
import { bundlers, esbuilt } from './builds.ts'
import { consumer, install, pageOf, versioned } from './consumer.ts'
import { flakyServer } from './flaky-server.ts'
import { tries } from './tries.ts'

/** Waits for the crowd's table, and says what is in it, and whether a Worker had a part in it. */
const main = `
import { RedriveCurve } from '@redrive/ui'

let inWorker = false
globalThis.Worker = class extends Worker {
  constructor(...args) {
    super(...args)
    this.addEventListener('message', () => { inWorker = true })
  }
}
const lab = document.createElement('redrive-curve')
lab.view = 'crowd'
document.body.append(lab)
const look = () => {
  const rows = lab.shadowRoot?.querySelectorAll('#table tbody tr').length
  const failure = lab.shadowRoot?.querySelector('[role=alert]')?.textContent
  const title = lab.shadowRoot?.querySelector('h2')?.textContent
  if (failure || (title?.startsWith('100 tasks') && rows > 0)) globalThis.answer = { isOurs: lab instanceof RedriveCurve, title, rows, failure, inWorker }
  else requestAnimationFrame(look)
}
look()
`
const expected = { isOurs: true, title: '100 tasks that fail together', rows: 10 }

const browser = duringTests(() => launch())

// the first two bring the file of the Worker along
for (const [name, [html, script, build]] of Object.entries(bundlers)) {
  tries(versioned(name, name.toLowerCase()), '@redrive/ui', async () => {
    using project = consumer({ [html]: pageOf('/main.js'), [script]: main })
    install(project, '@redrive/ui')
    await build(project)
    await using server = await flakyServer(join(project.folder, 'dist'))
    const run = await runPage(browser, `${server.origin}/`)
    expect(run.answer).toEqual({ ...expected, inWorker: name === 'Vite' || name === 'webpack' })
    expect(run.errors).toEqual([])
    expect(run.requests.filter((path) => path.endsWith('.wasm'))).toEqual([])
  })
}

test('a server that renders gets the same names, and defines nothing', async () => {
  using project = consumer({
    'main.mjs':
      "import * as ui from '@redrive/ui'\nconsole.log(JSON.stringify({ names: Object.keys(ui), registry: typeof customElements }))",
  })
  using inBrowser = consumer({ 'main.js': "import * as ui from '@redrive/ui'\nexport const names = Object.keys(ui)" })
  for (const each of [project, inBrowser]) install(each, '@redrive/ui')
  const { names, registry } = (await project.node('main.mjs')) as { names: string[]; registry: string }
  const built = await esbuilt(inBrowser, { entryPoints: ['node_modules/@redrive/ui/ui.js'], metafile: true })
  expect(registry).toBe('undefined')
  expect(names.sort()).toEqual(built.metafile?.outputs['dist/ui.js']?.exports.sort())
})
