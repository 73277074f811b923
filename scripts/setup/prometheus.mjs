// Gets a Prometheus and its promtool, for the tests in which they judge our metrics and rules.
// Debian's package is unpacked and not installed: installing it would start a server.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { at } from '../lib/paths.mjs'
import { run, StepError, step } from '../lib/steps.mjs'
import { isDebianRoot, updateDebian } from './debian.mjs'

const programs = ['prometheus', 'promtool']
const unpacked = at('.tools', 'prometheus')

const holds = (folder) => programs.every((name) => existsSync(join(folder, name)))

function find() {
  const wanted = process.env.PROMETHEUS_PATH
  if (wanted) {
    if (holds(wanted)) return wanted
    throw new StepError(`PROMETHEUS_PATH names ${wanted}, which does not hold ${programs.join(' and ')}`)
  }
  return ['/usr/bin', '/usr/local/bin', join(unpacked, 'usr', 'bin')].find(holds)
}

async function unpackDebian() {
  const folder = mkdtempSync(join(tmpdir(), 'prometheus-'))
  try {
    await updateDebian()
    // as root apt warns that it cannot drop its rights in this folder, and goes on
    await run('apt-get', ['download', '-qq', 'prometheus'], { cwd: folder })
    const [name] = readdirSync(folder).filter((file) => file.endsWith('.deb'))
    if (!name) throw new StepError('apt-get downloaded no package prometheus')
    rmSync(unpacked, { recursive: true, force: true })
    mkdirSync(unpacked, { recursive: true })
    await run('dpkg-deb', ['--extract', join(folder, name), unpacked])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Leaves the folder of both programs in PROMETHEUS_PATH, where the tests look for them. */
export const prometheusStep = () =>
  step('Prometheus', async () => {
    let folder = find()
    if (!folder && isDebianRoot()) {
      await unpackDebian()
      folder = find()
    }
    if (!folder) {
      throw new StepError(
        'No Prometheus for the tests of the metrics. One of these gives one:\n' +
          '  PROMETHEUS_PATH=/folder/of/prometheus/and/promtool npm test\n' +
          '  apt-get install prometheus          (Debian, as root; it starts a service)',
      )
    }
    process.env.PROMETHEUS_PATH = folder
    return folder
  })
