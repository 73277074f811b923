// Installs the runtimes and frameworks that only `npm run test:packaging -- --all` needs: half a gigabyte, so apart from the
// packages of the repository. In the versions of their lock and without install scripts: each binary is a package of its
// platform. Not by `npm ci`, which refuses a lock without the packages of some other platform.
import { cpSync, mkdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fingerprint, unlessFresh } from '../lib/inputs.mjs'
import { at } from '../lib/paths.mjs'
import { step } from '../lib/steps.mjs'
import { npm } from './npm.mjs'

const sources = ['package.json', 'package-lock.json'].map((name) => at('tests', 'packaging', 'all', name))
const folder = at('.tools', 'consumers')

async function install() {
  mkdirSync(folder, { recursive: true })
  for (const source of sources) cpSync(source, join(folder, basename(source)))
  await npm(['install', '--ignore-scripts', '--loglevel=error', '--no-audit', '--no-fund'], { cwd: folder })
}

export const consumersStep = () =>
  step('consumers', async () => {
    const stamp = {
      stampFile: join(folder, '.stamp'),
      print: fingerprint(sources),
      outputs: [join(folder, 'node_modules')],
    }
    return (await unlessFresh(stamp, install)) ? undefined : 'already there'
  })
