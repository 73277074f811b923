// Installs the npm packages of the lock file, no more and no less.
import { existsSync, readFileSync } from 'node:fs'
import { at, root } from '../lib/paths.mjs'
import { step } from '../lib/steps.mjs'
import { npm } from './npm.mjs'

const readLock = (path) => JSON.parse(readFileSync(path, 'utf8')).packages

/** Compares npm's record of installed packages with the lock: dates would be wrong after every checkout. */
function areInstalled() {
  const record = at('node_modules', '.package-lock.json')
  if (!existsSync(record)) return false
  const installed = readLock(record)
  return Object.entries(readLock(at('package-lock.json'))).every(([path, wanted]) => {
    if (path === '') return true
    const got = installed[path]
    return got ? got.version === wanted.version && got.integrity === wanted.integrity : wanted.optional === true
  })
}

export const packagesStep = () =>
  step('npm packages', async () => {
    if (areInstalled()) return 'already there'
    await npm(['ci', '--loglevel=error', '--no-audit', '--no-fund'], { cwd: root })
  })
