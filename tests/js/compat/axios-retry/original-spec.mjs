// Runs the spec of axios-retry itself, from a clone of its repository, against axios-retry and then against `redrive/compat/axios-retry`:
//
//   git clone --branch v4.5.0 https://github.com/softonic/axios-retry && (cd axios-retry && npm ci --ignore-scripts)
//   node tests/js/compat/axios-retry/original-spec.mjs axios-retry
//
// The spec is theirs and stays there. What it asks is restated in our words beside this file, and those cases run with every `npm test`.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { transformSync } from 'esbuild'

const [given] = process.argv.slice(2)
if (given === undefined) throw new Error('expected the folder of a clone of axios-retry, with its packages installed')
const clone = resolve(given)
const folder = join(clone, 'target-redrive')
const facade = fileURLToPath(new URL('../../../../js/compat-axios-retry.ts', import.meta.url))
const subjects = [
  ['axios-retry', join(clone, 'src/index.ts')],
  ['redrive/compat/axios-retry', facade],
]
const IMPORT = /(['"])\.\.\/src\/index\1/

const toModule = (file) => transformSync(readFileSync(file, 'utf8'), { loader: 'ts', format: 'esm' }).code

const { default: Jasmine } = await import(pathToFileURL(join(clone, 'node_modules/jasmine/lib/jasmine.js')).href)

/** The full names of the tests that fail, of how many. */
async function failures(name, source) {
  const spec = `${name.replaceAll('/', '-')}.spec.mjs`
  const subject = join(folder, `${spec}.subject.mjs`)
  if (source !== facade) writeFileSync(subject, toModule(source))
  const code = toModule(join(clone, 'spec/index.spec.ts'))
  if (!IMPORT.test(code)) throw new Error('the spec does not import ../src/index')
  const target = pathToFileURL(source === facade ? source : subject).href
  writeFileSync(join(folder, spec), code.replace(IMPORT, JSON.stringify(target)))
  const jasmine = new Jasmine({ projectBaseDir: folder })
  jasmine.exitOnCompletion = false
  jasmine.clearReporters()
  jasmine.loadConfig({ spec_dir: '.', spec_files: [spec], random: false })
  const failed = []
  let count = 0
  jasmine.addReporter({
    specDone({ status, fullName, failedExpectations }) {
      count++
      if (status !== 'passed')
        failed.push(`${fullName}: ${failedExpectations.map(({ message }) => message).join('; ')}`)
    },
  })
  await jasmine.execute()
  return { failed, count }
}

mkdirSync(folder, { recursive: true })
try {
  const { version } = JSON.parse(readFileSync(join(clone, 'node_modules/axios/package.json'), 'utf8'))
  for (const [name, source] of subjects) {
    const { failed, count } = await failures(name, source)
    console.log(`${name}, axios ${version}: ${count - failed.length} of ${count} pass`)
    for (const each of failed) console.log(`  ${each.slice(0, 200)}`)
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
