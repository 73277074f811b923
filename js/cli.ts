/**
 * The program `redrive`. An older Node cannot load undici, and would say so in words of its own: this file has nothing
 * that Node 16 cannot read, and asks for the rest only where it will run.
 */

import process from 'node:process'

const OLDEST = [22, 19] as const

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) {
  const { program } = await import('./service/cli/program.ts')
  await program()
} else {
  process.stderr.write(
    `redrive: this is Node ${process.versions.node}, and redrive needs ${OLDEST.join('.')} or later\n`,
  )
  process.exitCode = 1
}
