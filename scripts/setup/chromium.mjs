// Finds or installs a Chromium for the tests that need a real browser.
import { existsSync } from 'node:fs'
import { StepError, step } from '../lib/steps.mjs'
import { installDebian, isDebianRoot } from './debian.mjs'

const debian = '/usr/bin/chromium'

async function playwrightsOwn() {
  const { chromium } = await import('playwright-core')
  const path = chromium.executablePath()
  return path && existsSync(path) ? path : undefined
}

async function find() {
  const wanted = process.env.CHROMIUM_PATH
  if (wanted) {
    if (existsSync(wanted)) return wanted
    throw new StepError(`CHROMIUM_PATH names ${wanted}, which is not there`)
  }
  return existsSync(debian) ? debian : playwrightsOwn()
}

/** Leaves the path in CHROMIUM_PATH, where the tests look for it. */
export const chromiumStep = () =>
  step('Chromium', async () => {
    let path = await find()
    if (!path && isDebianRoot()) {
      await installDebian('chromium')
      path = await find()
    }
    if (!path) {
      throw new StepError(
        'No Chromium for the browser tests. One of these gives one:\n' +
          '  CHROMIUM_PATH=/path/to/chrome npm test\n' +
          '  apt-get install chromium            (Debian, as root)\n' +
          '  npx playwright-core install chromium',
      )
    }
    process.env.CHROMIUM_PATH = path
    return path
  })
