/** Which processes this one has started: whoever kills has to know whom. */

import { readdirSync, readFileSync } from 'node:fs'

/** Their ids, by the name of the program. */
export function children(program: string): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      const [name, parent] = statOf(pid)
      return name === program && parent === process.pid
    })
}

/** A process that ends meanwhile is nobody's; so is one that has ended and was not waited for. */
function statOf(pid: number): readonly [name: string, parent: number] {
  try {
    const [, name = '', state = '', parent = ''] =
      /\((.*)\) (\S) (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? []
    return [state === 'Z' ? '' : name, Number(parent)]
  } catch {
    return ['', 0]
  }
}
