// The imports of src/, by module: a file or folder directly under src/.
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { filesUnder } from '../lib/inputs.mjs'
import { at } from '../lib/paths.mjs'

const slashes = (path) => path.replaceAll('\\', '/')

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

/** @returns {Map<string, Set<string>>} module -> modules it uses; a module is a file or folder directly under src/ */
export function rustImports() {
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

/** Lists the modules that have no layer, and those that use a later one. */
export function rustFaults() {
  const layerOf = (module) => rustLayers.findIndex((names) => names.includes(module))
  return [...rustImports()].flatMap(([module, used]) => {
    const layer = layerOf(module)
    if (layer < 0) return [`src/${module} has no layer: give it one in scripts/check/rust-modules.mjs`]
    return [...used]
      .filter((other) => layerOf(other) > layer)
      .map((other) => `src/${module} imports ${other}, which comes after it`)
  })
}
