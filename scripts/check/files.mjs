// Small rules about files: their length, lock files, and texts that must not be in them.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { filesUnder } from '../lib/inputs.mjs'
import { cargoHome, machinePaths } from '../lib/machine-paths.mjs'
import { at, root } from '../lib/paths.mjs'
import { StepError } from '../lib/steps.mjs'

const maxLines = 400
const isCode = (path) => /\.(rs|ts|mjs|js|vue|css|html|sh)$/.test(path)
const isOutput = (path) =>
  /^js\/(core|stores\/redis)\/generated/.test(path) ||
  /(^|\/)(target|node_modules|\.next|\.wrangler|examples\/[^/]+\/dist)(\/|$)/.test(path)

/** The README is read on one screen after another, also of a terminal. */
const README = { lines: 120, columns: 100 }

/** Refuses a README that grows: what it has no room for has a page. */
export function checkReadme() {
  const lines = readFileSync(at('README.md'), 'utf8').trimEnd().split('\n')
  const wide = lines.flatMap((line, i) =>
    line.length > README.columns ? [`README.md:${i + 1}: ${line.length} columns`] : [],
  )
  const long = lines.length > README.lines ? [`README.md: ${lines.length} lines`] : []
  if (wide.length + long.length > 0)
    throw new StepError([...long, ...wide, `at most ${README.lines} lines of ${README.columns} columns`].join('\n'))
}

export function checkLengths() {
  // not tests: a table is as long as its law has cases
  const folders = ['src', 'sim', 'js', 'scripts', 'xtask', 'examples', 'benches', 'site'].map((name) => at(name))
  const long = filesUnder(folders, isOutput)
    .filter(isCode)
    .map((path) => ({ path: relative(root, path), lines: readFileSync(path, 'utf8').trimEnd().split('\n').length }))
    .filter(({ lines }) => lines > maxLines)
  if (long.length === 0) return
  throw new StepError(long.map(({ path, lines }) => `${path}: ${lines} lines; at ${maxLines} find the seam`).join('\n'))
}

/** Refuses code, and files without an ending, in the root of the repository: a stray redirect of a shell leaves such. */
export function checkRoot() {
  const listed = execFileSync('git', ['ls-files', '-z'], { cwd: root }).toString().split('\0')
  const stray = listed.filter((name) => name !== '' && !name.includes('/') && !belongsInRoot(name))
  if (stray.length > 0) throw new StepError(`not files of the root: ${stray.join(', ')}`)
}

const belongsInRoot = (name) =>
  /^(\.\w+|LICENSE-\w+|vitest\.config\.ts)$/.test(name) || /\.(md|toml|json|lock)$/.test(name)

/** Refuses published and committed files that name a folder of the machine they were made on. */
export function checkMachinePaths() {
  const faults = []
  const isLinked = (path) => path.includes('/node_modules')
  for (const path of filesUnder([at('pkg'), at('pkg-service'), at('pkg-ui')], isLinked)) {
    for (const found of machinePaths(readFileSync(path))) faults.push(`${relative(root, path)}: ${found}`)
  }
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root })
  for (const name of listed
    .toString()
    .split('\0')
    .filter((name) => name && existsSync(at(name)))) {
    const text = readFileSync(at(name), 'latin1')
    const found = [root, cargoHome()].find((folder) => folder.length > 3 && text.includes(folder))
    if (found) faults.push(`${name}: ${found}`)
  }
  if (faults.length > 0) throw new StepError(faults.join('\n'))
}

/** Compares one lock file with its manifest. */
function checkLock(lockName, manifestName) {
  const lock = JSON.parse(readFileSync(at(lockName), 'utf8'))
  const hosts = Object.entries(lock.packages).filter(([, entry]) => entry.resolved !== undefined)
  if (hosts.length > 0)
    throw new StepError(`${lockName} says where ${hosts[0][0]} came from: see .npmrc, then npm install`)
  const manifest = JSON.parse(readFileSync(at(manifestName), 'utf8'))
  for (const kind of ['dependencies', 'devDependencies']) {
    if (JSON.stringify(lock.packages[''][kind]) !== JSON.stringify(manifest[kind]))
      throw new StepError(`${lockName} is older than ${manifestName}: npm install`)
    const loose = Object.entries(manifest[kind] ?? {}).filter(([, range]) => !/^(npm:@?[\w/-]+@)?\d/.test(range))
    if (loose.length > 0) throw new StepError(`not pinned to one version: ${loose.map(([name]) => name).join(', ')}`)
  }
  return lock
}

/** Lock files name versions but no registries, and hold all dependencies of their manifests. */
export function checkLocks() {
  const lock = checkLock('package-lock.json', 'package.json')
  checkLock('tests/packaging/all/package-lock.json', 'tests/packaging/all/package.json')
  checkLock('site/package-lock.json', 'site/package.json')
  const holes = Object.values(lock.packages)
    .flatMap((entry) => Object.keys(entry.optionalDependencies ?? {}))
    .filter((name) => !Object.keys(lock.packages).some((path) => path.endsWith(`node_modules/${name}`)))
  if (holes.length > 0) throw new StepError(`package-lock.json lacks ${holes.join(', ')}: npm ci fails with it`)
  execFileSync('cargo', ['metadata', '--locked', '--format-version', '1'], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
}
