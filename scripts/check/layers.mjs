// Holds the house to its rules: a folder is a concept and a layer, imports flow one way, and there are no circles, types
// included. No file is named here; where a new one belongs is said by the folder it is put in.
import { StepError } from '../lib/steps.mjs'
import { rustFaults, rustImports } from './rust-modules.mjs'
import { portability, typescriptGraph, typescriptOrder } from './typescript-modules.mjs'

/** @typedef {Map<string, Set<string>>} Graph file without its ending -> the files it imports */

/** The folder a file belongs to; files of the root are the entries. */
const folderOf = (module) => (module.includes('/') ? module.slice(0, module.indexOf('/')) : 'entries')

/** Every group of files that reach each other, each in the order of its names (Tarjan's strongly connected components). */
export function circles(graph) {
  const number = new Map()
  const lowest = new Map()
  const stack = []
  const found = []
  const visit = (module) => {
    number.set(module, number.size)
    lowest.set(module, number.get(module))
    stack.push(module)
    for (const next of graph.get(module) ?? []) {
      if (!number.has(next)) visit(next)
      if (stack.includes(next)) lowest.set(module, Math.min(lowest.get(module), lowest.get(next)))
    }
    if (lowest.get(module) !== number.get(module)) return
    const group = stack.splice(stack.indexOf(module))
    if (group.length > 1) found.push(group.sort())
  }
  for (const module of graph.keys()) if (!number.has(module)) visit(module)
  return found.sort()
}

/** The file that speaks for a folder, `stores/sqlite` for `stores/sqlite/group`; undefined: the folder has none. */
function faceOf(module, graph) {
  const parts = module.split('/')
  if (parts.length < 3) return undefined
  const face = parts.slice(0, -1).join('/')
  return graph.has(face) ? face : undefined
}

/**
 * Lists what is wrong with a graph, one line each: a folder that has no place in `order`, an import from a later folder or from
 * another one of the same rank, an import past a face, a circle.
 */
export function violations(graph, order, root) {
  const rankOf = (module) => order.findIndex((rank) => rank.includes(folderOf(module)))
  const faults = []
  for (const [module, used] of graph) {
    const rank = rankOf(module)
    if (rank < 0) faults.push(`${root}/${module}: the folder ${folderOf(module)} has no place in the order of folders`)
    for (const other of used) {
      if (rank >= 0 && folderOf(other) !== folderOf(module) && rankOf(other) >= rank)
        faults.push(`${root}/${module} imports ${other}, whose folder does not come before its own`)
      const face = faceOf(other, graph)
      if (face !== undefined && module !== face && !module.startsWith(`${face}/`))
        faults.push(`${root}/${module} imports ${other} past its face, ${face}`)
    }
  }
  return [...faults, ...circles(graph).map((group) => `${root}: a circle of ${group.length}: ${group.join(', ')}`)]
}

export function checkLayers() {
  const faults = [
    ...rustFaults(),
    ...circles(rustImports()).map((group) => `src: a circle of modules: ${group.join(', ')}`),
    ...violations(typescriptGraph(), typescriptOrder, 'js'),
    ...portability(),
  ]
  if (faults.length > 0) throw new StepError(faults.join('\n'))
}
