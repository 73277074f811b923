// Vercel's edge compiles WebAssembly ahead, as Workers do, but its bundlers want `?module` behind the name of the file. So this
// copies the Workers' entries and every file between them and the two modules; all others are shared. A runtime sees only one
// of the two copies, so a class is still one class.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { StepError } from '../lib/steps.mjs'

/** File that the `edge-light` condition picks -> the file it is made from. */
export const edgeEntries = {
  'index.edge-light': 'index.workerd',
  'core.edge-light': 'core.workerd',
  'compat-axios-retry.edge-light': 'compat-axios-retry.workerd',
}

const imports = /((?:from|import)\s*\(?\s*")\.\/([^"]+)(")/g

export function edgeLight(folder) {
  const reaching = new Map() // file -> whether a module is reached from it
  const read = (file) => readFileSync(join(folder, file), 'utf8')
  const reaches = (file) => {
    if (file.endsWith('.wasm')) return true
    if (!reaching.has(file)) {
      reaching.set(file, false) // until all is looked at: files may import each other
      reaching.set(file, [...read(file).matchAll(imports)].map(([, , name]) => reaches(name)).some(Boolean))
    }
    return reaching.get(file)
  }
  const names = new Map(Object.entries(edgeEntries).map(([name, from]) => [`${from}.js`, `${name}.js`]))
  const renamed = (file) => {
    if (file.endsWith('.wasm')) return `${file}?module`
    if (!reaching.get(file)) return file
    const own = names.get(file) ?? file.replace(/^[a-z-]+-/, 'edge-')
    if (own === file) throw new StepError(`${file} would be overwritten: its name is not that of a chunk`)
    return own
  }
  for (const entry of names.keys()) {
    if (!reaches(entry)) throw new StepError(`${entry} imports no WebAssembly: the edge's entry is made from it`)
  }
  for (const [file, found] of reaching) {
    if (!found) continue
    const code = read(file).replace(imports, (_, before, name, after) => `${before}./${renamed(name)}${after}`)
    writeFileSync(join(folder, renamed(file)), code)
  }
}
