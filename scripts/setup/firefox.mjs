// Finds or installs a Firefox for the tests that need a second real browser.
import { existsSync } from 'node:fs'
import { StepError, step } from '../lib/steps.mjs'
import { installDebian, isDebianRoot } from './debian.mjs'

const debian = '/usr/bin/firefox-esr'

function find() {
  const wanted = process.env.FIREFOX_PATH
  if (wanted) {
    if (existsSync(wanted)) return wanted
    throw new StepError(`FIREFOX_PATH names ${wanted}, which is not there`)
  }
  return existsSync(debian) ? debian : undefined
}

/** Leaves the path in FIREFOX_PATH, where the tests look for it. */
export const firefoxStep = () =>
  step('Firefox', async () => {
    let path = find()
    if (!path && isDebianRoot()) {
      await installDebian('firefox-esr')
      path = find()
    }
    if (!path) {
      throw new StepError(
        'No Firefox for the browser tests. One of these gives one:\n' +
          '  FIREFOX_PATH=/path/to/firefox npm test\n' +
          '  apt-get install firefox-esr         (Debian, as root)',
      )
    }
    process.env.FIREFOX_PATH = path
    return path
  })
