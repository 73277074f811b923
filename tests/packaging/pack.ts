// Packs the packages as `npm publish` would and unpacks each once: what the consumers get is the tarball and
// not the folder it was made from.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../../', import.meta.url))

/** Where a run keeps what it makes. */
export const packing: string = join(root, 'target', 'packaging')

/** Name of a package -> the folder that the build has made of it. */
const folders = { redrive: 'pkg', '@redrive/service': 'pkg-service', '@redrive/ui': 'pkg-ui' }
export type PackageName = keyof typeof folders

const placeOf = (name: PackageName) => join(packing, folders[name])

/** The unpacked tarball. */
export const unpackedOf = (name: PackageName): string => join(placeOf(name), 'package')
export const unpacked: string = unpackedOf('redrive')
export const tarball = (name: PackageName = 'redrive'): string => {
  const file = readdirSync(placeOf(name)).find((each) => each.endsWith('.tgz'))
  if (file === undefined) throw new Error(`no tarball in ${placeOf(name)}`)
  return join(placeOf(name), file)
}

/** What the packages were built from, as the build left it; undefined where something else made the folders. */
const built = (): string | undefined => read(join(root, 'target', 'pkg.stamp'))
const stamp = join(packing, '.stamp')

/**
 * Vitest's hook, run once before the tests of a suite. A suite that finds the tarballs of these very packages leaves them: suites that
 * run side by side share it, and none may take it away under another.
 */
export function setup(): void {
  const print = built()
  if (print !== undefined && read(stamp) === print) return
  rmSync(packing, { recursive: true, force: true })
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
  for (const name of Object.keys(folders) as PackageName[]) {
    const [from, to] = [join(root, folders[name]), placeOf(name)]
    mkdirSync(to, { recursive: true })
    execFileSync(npm, ['pack', from, '--pack-destination', to, '--loglevel=error'], { stdio: 'pipe' })
    execFileSync('tar', ['-xzf', tarball(name), '-C', to])
  }
  if (print !== undefined) writeFileSync(stamp, print)
}

function read(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined
}
