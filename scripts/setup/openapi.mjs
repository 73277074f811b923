// Installs what judges the OpenAPI document of the retry service: Spectral (npm) and schemathesis (Python), each apart from the
// packages of the repository.
import { cpSync, mkdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fingerprint, unlessFresh } from '../lib/inputs.mjs'
import { at } from '../lib/paths.mjs'
import { step } from '../lib/steps.mjs'
import { npm } from './npm.mjs'
import { makePython } from './python.mjs'

const sources = ['package.json', 'package-lock.json', 'requirements.txt'].map((name) => at('tests', 'openapi', name))

const folder = at('.tools', 'openapi')

async function install() {
  mkdirSync(folder, { recursive: true })
  for (const source of sources) cpSync(source, join(folder, basename(source)))
  await npm(['install', '--ignore-scripts', '--loglevel=error', '--no-audit', '--no-fund'], { cwd: folder })
  await makePython(join(folder, 'python'), join(folder, 'requirements.txt'))
}

/** The programs that the tests start. */
export const openapiTools = {
  spectral: join(folder, 'node_modules', '@stoplight', 'spectral-cli', 'dist', 'index.js'),
  schemathesis: join(folder, 'python', 'bin', 'schemathesis'),
}

export const openapiStep = () =>
  step('Spectral and schemathesis', async () => {
    const stamp = {
      stampFile: join(folder, '.stamp'),
      print: fingerprint(sources),
      outputs: [openapiTools.spectral, openapiTools.schemathesis],
    }
    return (await unlessFresh(stamp, install)) ? undefined : 'already there'
  })
