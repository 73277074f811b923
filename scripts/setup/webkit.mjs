// Finds or installs a WebKit for the tests that need a third real browser: WebKitGTK's MiniBrowser, its WebDriver, and a virtual
// screen for both, since it has no headless mode.
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { StepError, step } from '../lib/steps.mjs'
import { installDebian, isDebianRoot } from './debian.mjs'

const programs = ['/usr/bin/WebKitWebDriver', '/usr/bin/Xvfb']

/** Debian has it in a folder of the machine's architecture and of the library's version. */
function miniBrowser() {
  const below = (folder, pattern) =>
    existsSync(folder)
      ? readdirSync(folder)
          .filter((name) => pattern.test(name))
          .map((name) => join(folder, name))
      : []
  const libraries = below('/usr/lib', /-linux-gnu/).flatMap((folder) => below(folder, /^webkit2?gtk-/))
  return libraries.map((folder) => join(folder, 'MiniBrowser')).find((path) => existsSync(path))
}

function find() {
  const wanted = process.env.WEBKIT_PATH
  if (wanted && !existsSync(wanted)) throw new StepError(`WEBKIT_PATH names ${wanted}, which is not there`)
  return programs.every((path) => existsSync(path)) ? wanted || miniBrowser() : undefined
}

/** Leaves the path of MiniBrowser in WEBKIT_PATH, where the tests look for it. */
export const webkitStep = () =>
  step('WebKit', async () => {
    let path = find()
    if (!path && isDebianRoot()) {
      await installDebian('webkit2gtk-driver', 'xvfb')
      path = find()
    }
    if (!path) {
      throw new StepError(
        `No WebKit for the browser tests: they need ${programs.join(', ')} and a MiniBrowser.\n` +
          '  apt-get install webkit2gtk-driver xvfb   (Debian, as root)\n' +
          '  WEBKIT_PATH=/path/to/MiniBrowser npm test -- webkit',
      )
    }
    process.env.WEBKIT_PATH = path
    return path
  })
