// Finds folders of the machine that built a file, as panic messages and debug sections carry them. They reveal that machine
// to strangers, and make two builds differ.
import { execFileSync } from 'node:child_process'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { root } from './paths.mjs'

export const cargoHome = () => process.env.CARGO_HOME ?? join(homedir(), '.cargo')
export const sysroot = (rustc = ['rustc']) =>
  execFileSync(rustc[0], [...rustc.slice(1), '--print', 'sysroot'], { encoding: 'utf8' }).trim()

/** The folders of this machine, and the shapes such folders have on any. `/` alone would match everything. */
const telltales = () =>
  [root, cargoHome(), homedir(), '/root/', '/home/', '/Users/', 'C:\\Users\\', '/.cargo/'].filter(
    (path) => path.length > 3,
  )

/** The machine paths found in `bytes`, each with the text around it. */
export function machinePaths(bytes) {
  const text = Buffer.from(bytes).toString('latin1')
  return telltales().flatMap((path) => {
    const index = text.indexOf(path)
    return index < 0 ? [] : [text.slice(index, index + 80).replace(/[^\x20-\x7e].*/s, '')]
  })
}
