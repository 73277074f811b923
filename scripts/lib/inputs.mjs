// Answers "did anything change?" by content. Modification times give the wrong answer for a fresh clone and a switched branch.
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { root } from './paths.mjs'

/** Every file under `paths` (files or folders), sorted, without those that `skip` accepts. */
export function filesUnder(paths, skip = () => false) {
  const found = []
  const visit = (path) => {
    if (skip(relative(root, path).replaceAll('\\', '/'))) return
    if (!statSync(path).isDirectory()) return void found.push(path)
    for (const name of readdirSync(path).sort()) visit(join(path, name))
  }
  for (const path of paths) if (existsSync(path)) visit(path)
  return found
}

/** One hash over names and contents, and over the `facts` (versions, flags) the output depends on. */
export function fingerprint(paths, facts = [], skip) {
  const hash = createHash('sha256')
  for (const fact of facts) hash.update(`${fact}\0`)
  for (const path of filesUnder(paths, skip)) {
    hash.update(`${relative(root, path)}\0`)
    hash.update(createHash('sha256').update(readFileSync(path)).digest())
  }
  return hash.digest('hex')
}

/** Runs `build` unless `stampFile` already carries `print` and every output is there. True if it ran. */
export async function unlessFresh({ stampFile, print, outputs }, build) {
  const fresh =
    existsSync(stampFile) && readFileSync(stampFile, 'utf8') === print && outputs.every((path) => existsSync(path))
  if (fresh) return false
  rmSync(stampFile, { force: true }) // a build that fails half-way must not pass for the one before it
  await build()
  writeFileSync(stampFile, print)
  return true
}
