// Installs packages of Debian, as root on a Debian only.
import { existsSync } from 'node:fs'
import { root } from '../lib/paths.mjs'
import { run } from '../lib/steps.mjs'

export const isDebianRoot = () => process.getuid?.() === 0 && existsSync('/etc/debian_version')

let updated
/** Once a run. */
export const updateDebian = () => (updated ??= run('apt-get', ['update', '-qq'], { cwd: root }))

export async function installDebian(...names) {
  await updateDebian()
  const env = { DEBIAN_FRONTEND: 'noninteractive' }
  await run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...names], { cwd: root, env })
}
