// Packs pkg/ as `npm publish` would and unpacks it once: what the consumers get is the tarball and
// not the folder it was made from.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../../', import.meta.url))
const folder = join(root, 'target', 'packaging')

/** The unpacked tarball. */
export const unpacked = join(folder, 'package')
export const tarball = (): string => {
  const name = readdirSync(folder).find((file) => file.endsWith('.tgz'))
  if (name === undefined) throw new Error(`no tarball in ${folder}`)
  return join(folder, name)
}

/** Vitest's hook, run once before the tests of this folder. */
export function setup(): void {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
  execFileSync(npm, ['pack', join(root, 'pkg'), '--pack-destination', folder, '--loglevel=error'], { stdio: 'pipe' })
  execFileSync('tar', ['-xzf', tarball(), '-C', folder])
}
