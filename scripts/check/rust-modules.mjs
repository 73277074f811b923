// The house rules of src/, file by file: a folder is a concept, folders come in an order, files within one are no circle, and
// what lies in a folder is imported through its face, the file of the folder's name beside it. lib.rs is left out: it
// re-exports everything under paths of its own.
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { filesUnder } from '../lib/inputs.mjs'
import { at } from '../lib/paths.mjs'

/** Files of the root and folders. What stands in one line does not import one another, the first line's files apart. */
const order = [
  ['time', 'rng', 'error', 'numbered', 'outcome', 'chunks', 'index', 'slots'],
  ['policy'],
  ['gates'],
  ['wait', 'http', 'request'],
  ['queue'],
  ['codes'],
  ['calls'],
  ['wasm'],
]

const topOf = (module) => module.split('/')[0]
const parentOf = (module) => module.split('/').slice(0, -1).join('/')

/** The code of a file that is built into the core: no comments, no texts, no tests. */
const codeOf = (text) =>
  text
    .replace(/\/\/.*$/gm, '')
    .replace(/"(?:\\.|[^"\\])*"/g, '""')
    .split('#[cfg(test)]\nmod ')[0]

/** `a::{b, c::{d, e}}` as lists of names: one for each leaf, renamings dropped. */
function pathsOf(tree) {
  const text = tree.replace(/\s+as\s+\w+/g, '').replace(/\s+/g, '')
  const group = /^(.*?)\{(.*)\}$/.exec(text)
  if (!group) return [text.split('::')]
  const lead = group[1].split('::').filter(Boolean)
  const leaves = []
  let depth = 0
  let leaf = ''
  for (const sign of `${group[2]},`) {
    if (sign === '{') depth++
    if (sign === '}') depth--
    if (sign !== ',' || depth > 0) leaf += sign
    else {
      if (leaf !== '') leaves.push(...pathsOf(leaf))
      leaf = ''
    }
  }
  return leaves.map((path) => [...lead, ...path.filter((name) => name !== 'self')])
}

/** Reads one file: its modules, the names it hands on from them, and every path it names. */
function read(text) {
  const code = codeOf(text)
  const children = new Map(
    [...code.matchAll(/(?:(pub(?:\([^)]*\))?)\s+)?mod\s+(\w+);/g)].map(([, seen, name]) => [name, seen]),
  )
  const handedOn = new Map()
  const paths = []
  const rest = code.replace(/(pub(?:\([^)]*\))?\s+)?\buse\s+([^;]+);/g, (_, isPublic, tree) => {
    for (const path of pathsOf(tree)) {
      if (isPublic) handedOn.set(path.at(-1), path)
      else paths.push(path)
    }
    return ''
  })
  for (const [path] of rest.matchAll(/\b[a-z]\w*(?:::\w+)+/g)) {
    const names = path.split('::')
    if (['crate', 'super'].includes(names[0]) || children.has(names[0])) paths.push(names)
  }
  // A name that is handed on is used as well where the rest of the file says it.
  for (const [name, path] of handedOn) if (new RegExp(`\\b${name}\\b`).test(rest)) paths.push(path)
  return { children, handedOn, paths }
}

/**
 * Finds the imports among `files`, which are texts by module, `queue/poll` for src/queue/poll.rs.
 * @returns {{ graph: Map<string, Set<string>>, faults: string[] }} module -> modules it uses; and imports past a face
 */
export function rustGraph(files) {
  const modules = new Map([...files].map(([module, text]) => [module, read(text)]))
  const faults = []

  /** The file that defines what `path`, as written in `from`, stands for; undefined: none of ours. */
  const definedIn = (from, path) => {
    let names = path
    let here = ''
    if (names[0] === 'super') {
      here = from
      for (; names[0] === 'super'; names = names.slice(1)) here = parentOf(here)
    } else if (names[0] === 'crate') names = names.slice(1)
    else if (modules.get(from)?.children.has(names[0])) here = from
    else return undefined
    for (; names.length > 0; names = names.slice(1)) {
      const inside = here === '' ? names[0] : `${here}/${names[0]}`
      if (modules.has(inside)) {
        const isOutside = here !== '' && from !== here && !from.startsWith(`${here}/`)
        if (isOutside && modules.get(here)?.children.get(names[0]) !== 'pub')
          faults.push(`src/${from} imports ${inside} past its face, ${here}`)
        here = inside
        continue
      }
      const on = modules.get(here)?.handedOn.get(names[0])
      return on ? (definedIn(here, on) ?? here) : here
    }
    return here
  }

  const graph = new Map()
  for (const [module, { paths }] of modules) {
    const used = new Set(paths.map((path) => definedIn(module, path)))
    used.delete(undefined)
    used.delete('')
    used.delete(module)
    graph.set(module, used)
  }
  return { graph, faults }
}

/** Lists what is without a place in the order, and what imports something that does not come before it. */
export function orderFaults(graph) {
  const rankOf = (module) => order.findIndex((names) => names.includes(topOf(module)))
  return [...graph].flatMap(([module, used]) => {
    const rank = rankOf(module)
    if (rank < 0) return [`src/${module} has no place: give ${topOf(module)} one in scripts/check/rust-modules.mjs`]
    const isLater = (other) => topOf(other) !== topOf(module) && rankOf(other) >= rank && rankOf(other) > 0
    return [...used].filter(isLater).map((other) => `src/${module} imports ${other}, which does not come before it`)
  })
}

const nameOf = (path) => relative(at('src'), path).replaceAll('\\', '/').replace(/\.rs$/, '')

function sources() {
  const paths = filesUnder([at('src')]).filter((path) => path.endsWith('.rs') && nameOf(path) !== 'lib')
  return new Map(paths.map((path) => [nameOf(path), readFileSync(path, 'utf8')]))
}

/** @returns {Map<string, Set<string>>} every file of src/ -> the files it uses */
export const rustImports = () => rustGraph(sources()).graph

export function rustFaults() {
  const { graph, faults } = rustGraph(sources())
  return [...orderFaults(graph), ...new Set(faults)]
}
