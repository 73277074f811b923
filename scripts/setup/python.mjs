// Finds a Python, and makes environments of it for the packages that tests start.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { run, StepError } from '../lib/steps.mjs'

/** The oldest that the packages of the tests take. */
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
    `No Python ${MINIMUM.join('.')} with venv, for servers and judges that the tests start. One of these gives one:\n` +
      '  PYTHON=/path/to/python3 npm test\n' +
      '  apt-get install python3-venv        (Debian, as root)',
  )
}

/** Makes an environment with the packages of a file, or brings the one that is there up to it. */
export async function makePython(folder, requirements) {
  const python = join(folder, 'bin', 'python')
  if (!existsSync(python)) await run(await findPython(), ['-m', 'venv', folder])
  await run(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '-r', requirements])
}
