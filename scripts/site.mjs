// `npm run site`: the documentation in a browser, following each change of docs/. `npm run site:build`: as files, in target/site, for any
// host of files; SITE_BASE says where they will lie there, `/redrive/` say. The API reference is printed from docstrings first.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { build } from './build.mjs'
import { at } from './lib/paths.mjs'
import { passOn } from './lib/signals.mjs'
import { isEntry, main, run, StepError, step } from './lib/steps.mjs'
import { setup } from './setup.mjs'

const site = at('site')
const vitepress = at('site', 'node_modules', 'vitepress', 'bin', 'vitepress.js')

/** Writes docs/api/. */
export const writeApi = () =>
  step('API reference', () => run(process.execPath, ['api.mjs'], { cwd: site }).then(() => {}))

/** Writes target/site. What VitePress says in the end counts: it builds on where something is amiss. */
export const buildSite = () =>
  step('site', async () => {
    const { output } = await run(process.execPath, [vitepress, 'build'], { cwd: site })
    const warnings = output.split('\n').filter((line) => /warn|\(!\)/i.test(line))
    if (warnings.length > 0) throw new StepError(output)
  })

async function serve(args) {
  process.stdout.write('\n')
  const child = spawn(process.execPath, [vitepress, 'dev', '.', ...args], { cwd: site, stdio: 'inherit' })
  passOn(child)
  const [code] = await once(child, 'exit')
  process.exitCode = code ?? 1
}

if (isEntry(import.meta.url)) {
  await main(async () => {
    const [what, ...args] = process.argv.slice(2)
    if (what !== 'dev' && what !== 'build') throw new StepError(`'${what}' is neither dev nor build`)
    await setup({ site: true })
    await build()
    await writeApi()
    await (what === 'dev' ? serve(args) : buildSite())
  })
}
