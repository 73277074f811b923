// A user who doubts the published core must be able to build it again: the same sources in another folder, from scratch, must
// give the same bytes. This compiles everything once more, so it runs on request only: `npm run check -- --reproducible`.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { filesUnder } from '../lib/inputs.mjs'
import { at, generated, root } from '../lib/paths.mjs'
import { run, StepError } from '../lib/steps.mjs'

/** Copies the files that are in the repository or about to be, with the npm packages beside them. */
function copyTo(folder) {
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root })
  for (const name of listed.toString().split('\0').filter(Boolean)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    cpSync(at(name), join(folder, name))
  }
  symlinkSync(at('node_modules'), join(folder, 'node_modules'))
}

const hashOf = (file) => createHash('sha256').update(readFileSync(file)).digest('hex')

export async function checkReproducible() {
  const place = mkdtempSync(join(tmpdir(), 'redrive-again-'))
  try {
    const folder = join(place, 'another folder', 'with a longer name')
    copyTo(folder)
    await run(process.execPath, [join(folder, 'scripts', 'build-wasm.mjs')], { cwd: folder })
    const names = filesUnder([generated])
      .map((file) => relative(root, file))
      .filter((name) => !name.endsWith('.stamp'))
    const differ = names.filter((name) => hashOf(at(name)) !== hashOf(join(folder, name)))
    if (names.length === 0) throw new StepError('there is nothing to compare: npm run build first')
    if (differ.length > 0) throw new StepError(`built again in another folder, these differ:\n${differ.join('\n')}`)
    const modules = names.filter((name) => name.endsWith('.wasm'))
    return modules.map((name) => `${name.split('/').at(-1)} sha256 ${hashOf(at(name)).slice(0, 16)}`).join(', ')
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
}
