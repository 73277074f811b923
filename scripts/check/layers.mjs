// Imports flow one way: a module may use its own layer and those before it, never one behind, and
// there are no circles. A new module must be given its layer here, which is the moment to think about it.
import { readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { filesUnder } from '../lib/inputs.mjs'
import { at } from '../lib/paths.mjs'
import { StepError } from '../lib/steps.mjs'

const layers = (...lines) => lines.map((line) => line.split(' '))

const rustLayers = layers(
  'time rng error recent',
  'policy http_date retry_after structured ratelimit slots curve json url',
  'breaker budget storm ramp',
  'backoff classify gates agenda key headers url_secrets fifo task duration',
  'lanes orders schedule',
  'queue',
  'wasm',
)

const typescriptLayers = layers(
  'errors error-text clock events policy presets gate-options options limits types check ids verdict transport uuid7 policy-fields redirects stores/store stores/records',
  'core/* host request task attempt fetch-transport idempotency registry hooks lanes wake callers report nothing fetch-replay answers unsent log decision asked sanitizer orders explain flags judge policies secrets sender gates alerts turn-away',
  'stores/*',
  'durable/* runner cause resident dedupe intake enqueueable pages desk internals dead-letters loader opening prepare engine engine.workerd engine.service-worker',
  'queue',
  'adapters/* cloudflare/* testing testing/*',
  'cloudflare public index index.workerd core core.workerd node background-sync following service-worker',
)

/** What reaches a page, a Worker or a server alike: nothing of Node's, no package at run time. */
const portable = [
  'index',
  'index.workerd',
  'core',
  'core.workerd',
  'adapters/fetch',
  'adapters/axios',
  'adapters/prometheus',
  'adapters/opentelemetry',
  'stores/memory',
  'stores/indexeddb',
  'stores/durable-object',
  'background-sync',
  'cloudflare',
  'service-worker',
]

/** The package, or the platform's module, that an adapter is for, where its code is needed and not its types alone. Nobody else may import it. */
const peers = [
  { name: '@opentelemetry/api', of: 'adapters/opentelemetry' },
  { name: 'cloudflare:workers', of: 'cloudflare/object' },
]

const slashes = (path) => path.replaceAll('\\', '/')

/** @returns {Map<string, Set<string>>} module -> modules it uses; a module is a file or folder directly under src/ */
function rustImports() {
  const graph = new Map()
  for (const path of filesUnder([at('src')]).filter((name) => name.endsWith('.rs'))) {
    const module = slashes(relative(at('src'), path))
      .replace(/\.rs$/, '')
      .split('/')[0]
    if (module === 'lib') continue
    const code = readFileSync(path, 'utf8')
      .replace(/\/\/.*$/gm, '')
      .split('#[cfg(test)]')[0] // tests may look at anything
    const used = graph.get(module) ?? new Set()
    for (const [, name] of code.matchAll(/\bcrate::(\w+)/g)) used.add(name)
    for (const [, list] of code.matchAll(/\bcrate::\{([^;]*)\}/g)) {
      for (const [, name] of list.matchAll(/(?:^|,)\s*(\w+)/g)) used.add(name)
    }
    used.delete(module)
    graph.set(module, used)
  }
  return graph
}

const importPattern =
  /^\s*(?:import|export)\s+(type\s+)?(?:[^'";]*?\sfrom\s+)?'([^']+)'|(typeof\s+)?\bimport\('([^']+)'\)/gm

/** @returns {Map<string, { name: string, isType: boolean, isOwn: boolean }[]>} file under js/ without its ending -> what it imports */
function typescriptImports() {
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

/** The layer of a module: by its name, or else by `folder/*`. */
const layerOf = (order, module) => {
  const [folder, inside] = module.split('/')
  const named = order.findIndex((names) => names.includes(module))
  return named >= 0 || inside === undefined ? named : order.findIndex((names) => names.includes(`${folder}/*`))
}

function circle(graph) {
  const done = new Set()
  const visit = (module, trail) => {
    if (trail.includes(module)) return [...trail.slice(trail.indexOf(module)), module]
    if (done.has(module)) return undefined
    for (const next of graph.get(module) ?? []) {
      const found = visit(next, [...trail, module])
      if (found) return found
    }
    done.add(module)
    return undefined
  }
  for (const module of graph.keys()) {
    const found = visit(module, [])
    if (found) return found
  }
  return undefined
}

/** What is wrong with a graph under an order of layers, one line each. Exported for its own test. */
export function violations(graph, order, folder, runtimeGraph = graph) {
  const faults = []
  for (const [module, used] of graph) {
    const layer = layerOf(order, module)
    if (layer < 0) faults.push(`${folder}/${module} has no layer: give it one in scripts/check/layers.mjs`)
    for (const other of used) {
      if (layer >= 0 && layerOf(order, other) > layer)
        faults.push(`${folder}/${module} imports ${other}, which comes after it`)
    }
  }
  const found = circle(runtimeGraph) // two files may name each other's types: those imports are erased
  if (found) faults.push(`${folder}: a circle: ${found.join(' -> ')}`)
  return faults
}

function portability(graph) {
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
    if (module.startsWith('core/')) continue
    if (used.some(({ name, isType }) => !isType && name.startsWith('core/generated/'))) {
      faults.push(`js/${module} runs generated code; only js/core/ does`)
    }
  }
  return faults
}

export function checkLayers() {
  const typescript = typescriptImports()
  /** Module -> the modules of ours it imports; generated code has no layer of its own. */
  const ownImports = (wanted) =>
    new Map(
      [...typescript].map(([module, used]) => {
        const names = used.filter((item) => item.isOwn && !item.name.startsWith('core/generated/') && wanted(item))
        return [module, new Set(names.map(({ name }) => name))]
      }),
    )
  const faults = [
    ...violations(rustImports(), rustLayers, 'src'),
    ...violations(
      ownImports(() => true),
      typescriptLayers,
      'js',
      ownImports(({ isType }) => !isType),
    ),
    ...portability(typescript),
  ]
  if (faults.length > 0) throw new StepError(faults.join('\n'))
}
