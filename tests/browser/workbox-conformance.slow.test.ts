/**
 * Workbox's queue and ours side by side, in a real service worker: what the cases say of each is what is seen. Firefox has no Background
 * Sync, and leaves out the cases that need it.
 */
import { createServer } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bundleForPage } from '../bundle.ts'
import { chromium, type Engine, firefox } from './engines.ts'
import { listenDuringTests, type Origin } from './origins.ts'
import { cases } from './workbox-compat/cases.ts'
import { keyOf, type Seen } from './workbox-compat/serve-cases.ts'

const scripts: Record<string, string> = {}
const origin: Origin = {
  server: createServer(({ url = '/' }, response) => {
    const script = scripts[url]
    if (script !== undefined) response.writeHead(200, { 'content-type': 'text/javascript' }).end(script)
    else response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>cases</title>')
  }),
  url: '',
}
listenDuringTests(origin)

const LIBRARIES = ['workbox', 'redrive'] as const
type Library = (typeof LIBRARIES)[number]

beforeAll(async () => {
  const define = { 'process.env.NODE_ENV': '"production"' }
  for (const name of LIBRARIES) {
    scripts[`/${name}/worker.js`] = await bundleForPage(`browser/workbox-compat/${name}-worker.ts`, { define })
  }
})

/** Each library in a worker with a scope of its own. */
async function see(engine: Engine, library: Library): Promise<Seen> {
  const tab = await engine.open(`${origin.url}/${library}/`)
  return tab.run<Seen>(`(async () => {
    const registration = await navigator.serviceWorker.register('/${library}/worker.js')
    const worker = registration.installing ?? registration.waiting ?? registration.active
    if (worker.state !== 'activated') {
      await new Promise((resolve) => worker.addEventListener('statechange', () => worker.state === 'activated' && resolve()))
    }
    return new Promise((resolve) => {
      const { port1, port2 } = new MessageChannel()
      port1.onmessage = ({ data }) => resolve(data)
      worker.postMessage('run', [port2])
    })
  })()`)
}

describe.for([
  ['Chromium', chromium, true],
  ['Firefox', firefox, false],
] as const)('%s', ([, launch, hasSync]) => {
  const seen: Partial<Record<Library, Seen>> = {}
  let engine: Engine
  beforeAll(async () => {
    engine = await launch()
    for (const library of LIBRARIES) seen[library] = await see(engine, library)
  }, 120_000)
  afterAll(() => engine?.close())

  const run = cases.filter(({ needsSync }) => hasSync || !needsSync)
  test.for(run.map((each) => [keyOf(each), each] as const))('%s', ([key, { seen: wanted, differs }]) => {
    expect(seen.workbox?.[key]).toEqual(wanted)
    expect(seen.redrive?.[key]).toEqual(differs ? differs.seen : wanted)
    if (differs) expect(differs.seen).not.toEqual(wanted)
  })

  test('every case was run', () => {
    for (const library of LIBRARIES) expect(Object.keys(seen[library] ?? {}).sort()).toEqual(run.map(keyOf).sort())
  })
})
