// Packs pkg/ as `npm publish` would and unpacks it once: what the consumers get is the tarball and
// not the folder it was made from.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
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

/** What pkg/ was built from, as the build left it; undefined where something else made the folder. */
const built = (): string | undefined => read(join(root, 'target', 'pkg.stamp'))
const stamp = join(packing, '.stamp')

/**
 * Vitest's hook, run once before the tests of a suite. Whoever finds the tarball of this very package leaves it: suites that
 * run side by side share it, and none may take it away under another.
 */
export function setup(): void {
  const print = built()
  if (print !== undefined && read(stamp) === print) return
  rmSync(packing, { recursive: true, force: true })
  mkdirSync(packing, { recursive: true })
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
  execFileSync(npm, ['pack', join(root, 'pkg'), '--pack-destination', packing, '--loglevel=error'], { stdio: 'pipe' })
  execFileSync('tar', ['-xzf', tarball(), '-C', packing])
  if (print !== undefined) writeFileSync(stamp, print)
}

function read(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined
}
