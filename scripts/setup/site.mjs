// Installs what builds the documentation site: in `site/`, apart from the packages of the repository, since TypeDoc needs an older
// TypeScript.
import { join } from 'node:path'
import { fingerprint, unlessFresh } from '../lib/inputs.mjs'
import { at } from '../lib/paths.mjs'
import { step } from '../lib/steps.mjs'
import { npm } from './npm.mjs'

const folder = at('site')
const sources = ['package.json', 'package-lock.json', '.npmrc'].map((name) => join(folder, name))

export const siteStep = () =>
  step('packages of the site', async () => {
    const stamp = {
      stampFile: join(folder, 'node_modules', '.stamp'),
      print: fingerprint(sources),
      outputs: [join(folder, 'node_modules', 'vitepress')],
    }
    const install = () => npm(['ci', '--loglevel=error', '--no-audit', '--no-fund'], { cwd: folder })
    return (await unlessFresh(stamp, install)) ? undefined : 'already there'
  })
