// The bytes that a page pays, as it pays them: the package is built by four bundlers as their users build it, and the files of the output are
// weighed one by one, as a server would send them.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { at } from '../lib/paths.mjs'
import { StepError } from '../lib/steps.mjs'
import { builds } from './bundlers.mjs'

const page = {
  'main.js': `
import { RetryQueue } from 'redrive'
import { wrapFetch } from 'redrive/fetch'

globalThis.fetch = wrapFetch(new RetryQueue())
`,
}

/** Has an `import()`, as the page above, and nothing of the package: what is left is the bundler's own. */
const bare = { 'main.js': "globalThis.later = () => import('./later.js')", 'later.js': 'export const later = 1' }

/** The files of the package behind its `import()`s, found by the names of their modules: the hashes change. */
function imported() {
  const names = readdirSync(at('pkg')).filter((name) => name.endsWith('.js'))
  const called = (word) => {
    const found = names.filter((name) => new RegExp(`^${word}(-[a-z0-9]{8})?\\.js$`).test(name))
    if (found.length === 0) throw new StepError(`no file of the package is called ${word}`)
    return found
  }
  return {
    core: called('chunk'),
    store: called('durable-page'),
    keys: called('keys-inline'),
    words: called('explain'),
  }
}

/** Builds a page that may load all of the package, and says which files of the output it loads when, each once. */
export async function partsOf(bundler, name, program) {
  const { folder, entry, later } = await builds[bundler](name, program)
  const loaded = new Set(entry)
  const more = (modules) => {
    const files = modules.flatMap((module) => later.get(module) ?? []).filter((file) => !loaded.has(file))
    if (files.length === 0) throw new StepError(`${bundler} has made no chunk of ${modules}`)
    for (const file of files) loaded.add(file)
    return [...new Set(files)]
  }
  const { core, store, keys, words } = imported()
  const parts = { atIdle: more(core), withTask: more(words), withPrincipal: more(store), forKeys: more(keys) }
  return { folder, atOnce: entry, ...parts }
}

const gzipped = (bytes) => gzipSync(bytes, { level: 9 }).length

async function measured(bundler) {
  const own = await builds[bundler]('bare', bare)
  const { folder, atOnce, atIdle, withTask, withPrincipal, forKeys } = await partsOf(bundler, 'page', page)
  const weigh = (names, where = folder) =>
    names.reduce((sum, name) => sum + gzipped(readFileSync(join(where, name))), 0)
  const durable = [...atOnce, ...atIdle, ...withTask, ...withPrincipal]
  return {
    bundler,
    durable: { bytes: weigh(durable), requests: durable.length },
    atOnce: weigh(atOnce),
    requests: atOnce.length,
    own: weigh(own.entry, own.folder),
    atIdle: weigh(atIdle),
    withTask: weigh(withTask),
    withPrincipal: weigh(withPrincipal),
    forKeys: weigh(forKeys),
  }
}

/** For each bundler: bytes after gzip, and the number of requests that they come in before the first call. */
export async function measurePages() {
  const found = []
  // one after another: they share this process and its environment
  for (const bundler of Object.keys(builds)) found.push(await measured(bundler))
  return found
}
