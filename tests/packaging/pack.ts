// Packs pkg/ as `npm publish` would and unpacks it once: what the consumers get is the tarball and
// not the folder it was made from.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../../', import.meta.url))

/** Where a run keeps what it makes. */
export const packing: string = join(root, 'target', 'packaging')

/** The unpacked tarball. */
export const unpacked: string = join(packing, 'package')
export const tarball = (): string => {
  const name = readdirSync(packing).find((file) => file.endsWith('.tgz'))
  if (name === undefined) throw new Error(`no tarball in ${packing}`)
  return join(packing, name)
}

/** Vitest's hook, run once before the tests of this folder. */
export function setup(): void {
  rmSync(packing, { recursive: true, force: true })
  mkdirSync(packing, { recursive: true })
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
  execFileSync(npm, ['pack', join(root, 'pkg'), '--pack-destination', packing, '--loglevel=error'], { stdio: 'pipe' })
  execFileSync('tar', ['-xzf', tarball(), '-C', packing])
}
