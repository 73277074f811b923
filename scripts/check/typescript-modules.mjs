// The imports of js/, as they are written: which file names which, and whether for its types alone.
import { readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { entries, nodeOnly } from '../build/entries.mjs'
import { filesUnder } from '../lib/inputs.mjs'
import { at } from '../lib/paths.mjs'

/** The folders of js/, each before those that may use it; folders of one rank do not use each other. */
export const typescriptOrder = [
  ['platform'],
  ['api'],
  ['options'],
  ['call'],
  ['core'],
  ['stores'],
  ['tasks'],
  ['runner'],
  ['durable'],
  ['queue'],
  ['adapters', 'cloudflare', 'testing'],
  ['compat'],
  ['display'],
  ['service', 'ui'],
  ['entries'],
]

/** Entries for pages, Workers and servers alike, and the folders' faces that these export: they need nothing of Node's and no package at run time. */
const portable = Object.entries(entries)
  .filter(([name]) => !nodeOnly.includes(name) && name !== 'testing')
  .map(([, source]) => source.replace(/^js\/|\.ts$/g, ''))

/** The package, or the platform's module, that an adapter is for, where its code is needed and not its types alone. No other module may import it. */
const peers = [
  { name: '@opentelemetry/api', of: 'adapters/opentelemetry' },
  { name: 'cloudflare:workers', of: 'cloudflare/object' },
]

const slashes = (path) => path.replaceAll('\\', '/')

const importPattern =
  /^\s*(?:import|export)\s+(type\s+)?(?:[^'";]*?\sfrom\s+)?'([^']+)'|(typeof\s+)?\bimport\('([^']+)'\)/gm

/** @returns {Map<string, { name: string, isType: boolean, isOwn: boolean }[]>} file of js/ without its ending -> what it imports */
export function typescriptImports() {
  const graph = new Map()
  const nameOf = (path) => slashes(relative(at('js'), path)).replace(/\.ts$/, '')
  for (const path of filesUnder([at('js')]).filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts'))) {
    const code = readFileSync(path, 'utf8').replace(/^\s*(\/\/|\*|\/\*\*).*$/gm, '')
    const used = [...code.matchAll(importPattern)].map(([, typeOnly, from, typeQuery, dynamic]) => {
      const specifier = from ?? dynamic
      const name = specifier.startsWith('.') ? nameOf(join(dirname(path), specifier)) : specifier
      return { name, isType: Boolean(typeOnly ?? typeQuery), isOwn: specifier.startsWith('.') }
    })
    graph.set(nameOf(path), used)
  }
  return graph
}

const isGenerated = (name) => name.startsWith('core/generated/')
/** Names and numbers alone, which stand below every folder. */
const isCodes = (name) => name === 'core/generated/codes'

/** Types included: a file that names another's types cannot be understood without it. */
export function typescriptGraph() {
  return new Map(
    [...typescriptImports()].map(([module, used]) => [
      module,
      new Set(used.filter(({ name, isOwn }) => isOwn && !isGenerated(name)).map(({ name }) => name)),
    ]),
  )
}

/** Folders and entries of the other two packages. They take the queue by the names of its entries, as their users' programs do. */
const APART = /^(service|cli|ui|ui\.server|ui-sources|ui-worker)(\/|$)/
const isOfQueue = (name) => /^redrive(\/|$)/.test(name)

/** Lists what would bring Node, a package or generated code to where it must not be. */
export function portability(graph = typescriptImports()) {
  const faults = []
  const reached = new Set()
  const visit = (module, trail) => {
    if (reached.has(module)) return
    reached.add(module)
    for (const { name, isType, isOwn } of graph.get(module) ?? []) {
      if (isType) continue
      if (isOwn) visit(name, [...trail, module])
      else if (!peers.some((peer) => peer.name === name && module.startsWith(peer.of)))
        faults.push(`js/${[...trail, module].join(' -> ')} imports '${name}' at run time`)
    }
  }
  for (const entry of portable) visit(entry, [])
  for (const [module, used] of graph) {
    const isApart = APART.test(module)
    for (const { name, isOwn } of used) {
      if (isApart && isOwn && !APART.test(name) && !isGenerated(name))
        faults.push(`js/${module} imports ${name} by its path; what it needs of the queue is in redrive/internal`)
      if (!isApart && isOfQueue(name)) faults.push(`js/${module} imports '${name}', of which it is a part`)
    }
    if (module.startsWith('core/') || module === 'ui/engine/lab') continue
    if (used.some(({ name, isType }) => !isType && isGenerated(name) && !isCodes(name))) {
      faults.push(`js/${module} runs generated code; only js/core/ does`)
    }
  }
  return faults
}
