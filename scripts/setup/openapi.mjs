// Installs what judges the OpenAPI document of the retry service: Spectral (npm) and schemathesis (Python), each apart from the
// packages of the repository.
import { cpSync, existsSync, mkdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fingerprint, unlessFresh } from '../lib/inputs.mjs'
import { at } from '../lib/paths.mjs'
import { run, StepError, step } from '../lib/steps.mjs'
import { npm } from './npm.mjs'

const sources = ['package.json', 'package-lock.json', 'requirements.txt'].map((name) => at('tests', 'openapi', name))
const folder = at('.tools', 'openapi')
const python = join(folder, 'python', 'bin', 'python')
/** The oldest that schemathesis takes. */
const MINIMUM = [3, 10]

async function findPython() {
  for (const name of [process.env.PYTHON, 'python3', 'python'].filter(Boolean)) {
    const { code, stdout } = await run(name, ['-c', 'import sys, venv, ensurepip; print(*sys.version_info[:2])'], {
      allowFailure: true,
    }).catch(() => ({ code: 1, stdout: '' }))
    const [major = 0, minor = 0] = stdout.trim().split(' ').map(Number)
    if (code === 0 && (major > MINIMUM[0] || (major === MINIMUM[0] && minor >= MINIMUM[1]))) return name
  }
  throw new StepError(
    `No Python ${MINIMUM.join('.')} with venv for schemathesis, which tests the REST API. One of these gives one:\n` +
      '  PYTHON=/path/to/python3 npm test\n' +
      '  apt-get install python3-venv        (Debian, as root)',
  )
}

async function install() {
  mkdirSync(folder, { recursive: true })
  for (const source of sources) cpSync(source, join(folder, basename(source)))
  await npm(['install', '--ignore-scripts', '--loglevel=error', '--no-audit', '--no-fund'], { cwd: folder })
  if (!existsSync(python)) await run(await findPython(), ['-m', 'venv', join(folder, 'python')])
  await run(python, [
    '-m',
    'pip',
    'install',
    '--quiet',
    '--disable-pip-version-check',
    '-r',
    join(folder, 'requirements.txt'),
  ])
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
