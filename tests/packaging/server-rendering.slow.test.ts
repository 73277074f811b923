// Frameworks import a page's modules on the server too. There an entry looks at nothing, starts nothing and keeps no process
// alive, and neither does a queue that a module makes at its top.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { consumer, link } from './consumer.ts'
import { unpacked } from './pack.ts'

const { exports } = JSON.parse(readFileSync(join(unpacked, 'package.json'), 'utf8')) as { exports: object }
/** Every entry that is code and may be in a page: all but those that are Node's or the edge's by name. */
const entries = Object.keys(exports)
  .filter((name) => !/\.wasm$|package\.json$|^\.\/(node|sqlite|redis|service|cloudflare)$/.test(name))
  .map((name) => `redrive${name.slice(1)}`)

/** Whoever so much as reads one of these is told of; what no server has throws besides. */
const traps = `
export const touched = []
const trap = (holder, name) => {
  const real = holder[name]
  const get = () => {
    touched.push(name)
    if (real === undefined) throw new Error(name + ' was read')
    return real
  }
  Object.defineProperty(holder, name, { configurable: true, get })
}
const ofPages = [
  'window', 'document', 'self', 'location', 'navigator', 'localStorage', 'sessionStorage', 'indexedDB', 'caches',
  'history', 'screen', 'XMLHttpRequest', 'requestIdleCallback', 'addEventListener', 'BroadcastChannel',
]
const ofAll = ['setTimeout', 'setInterval', 'setImmediate', 'queueMicrotask', 'fetch', 'crypto', 'performance']
export function arm() {
  for (const name of [...ofPages, ...ofAll]) trap(globalThis, name)
  for (const name of ['compile', 'instantiate', 'Module', 'Instance']) trap(WebAssembly, name)
}
export const alive = () => process.getActiveResourcesInfo().filter((name) => !/Pipe|TTY|FS|Close/.test(name))
`

/** Runs `main` after an import of the traps and of the peer, which is not ours and may look around. */
async function onServer(main: string): Promise<unknown> {
  const imports = "import '@opentelemetry/api'\nimport { alive, arm, touched } from './traps.mjs'"
  using project = consumer({ 'traps.mjs': traps, 'main.mjs': `${imports}\n${main}` })
  link(project, '@opentelemetry/api')
  return await project.node('main.mjs')
}

test.each(entries)('importing %s reads nothing of a page, starts nothing, adds nothing global', async (entry) => {
  const main = `
    arm()
    const before = Object.getOwnPropertyNames(globalThis)
    const found = Object.keys(await import('${entry}')).length > 0
    const added = Object.getOwnPropertyNames(globalThis).filter((name) => !before.includes(name))
    console.log(JSON.stringify({ found, touched: [...touched], alive: alive(), added }))`
  expect(await onServer(main)).toEqual({ found: true, touched: [], alive: [], added: [] })
})

test('the traps tell of who looks', async () => {
  const main = `
    arm()
    try { document.title } catch {}
    setTimeout(() => {}, 1)
    console.log(JSON.stringify({ touched: [...touched], alive: alive() }))`
  expect(await onServer(main)).toEqual({ touched: ['document', 'setTimeout'], alive: ['Timeout'] })
})

test.each(['{}', '{ principal: null }', '{ durable: true, principal: null }', "{ preload: 'eager', concurrency: 2 }"])(
  'a queue made at the top of a module, new RetryQueue(%s), asks nobody and keeps no process alive',
  async (options) => {
    const main = `
      import { RetryQueue } from 'redrive'
      let calls = 0
      globalThis.fetch = () => { calls += 1; return Promise.reject(new Error('asked')) }
      new RetryQueue(${options})
      await new Promise((resolve) => setTimeout(resolve))
      console.log(JSON.stringify({ calls, alive: alive() }))`
    expect(await onServer(main)).toEqual({ calls: 0, alive: [] })
  },
)
