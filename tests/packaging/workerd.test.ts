// workerd forbids compiling bytes: there the module comes by a static import, which its bundler
// leaves beside the code.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Miniflare } from 'miniflare'
import { expect, test } from 'vitest'
import { consumer, expected, program } from './consumer.ts'
import { flakyServer } from './flaky-server.ts'
import { unpacked } from './pack.ts'
import { bundleWorker } from './worker-bundle.ts'

const worker = `
import { main } from './queue.js'
import { loadCore } from 'redrive/core'
export default {
  async fetch(request) {
    const answer = await main(new URL(request.url).searchParams.get('api'))
    const core = await loadCore()
    return Response.json({ answer, delay: core.calculateBackoffDelay({ strategy: 'fixed', initialDelayMs: 250, jitterType: 'NONE' }, 1) })
  }
}
`

test('workerd runs the queue from the static module', async () => {
  await using server = await flakyServer()
  using project = consumer({ 'worker.js': worker, 'queue.js': program })
  const script = await bundleWorker(project.folder)
  expect(script, 'the inline module belongs to the other entry').not.toMatch(/[A-Za-z0-9+/]{2000}/)
  const miniflare = new Miniflare({
    modules: [
      { type: 'ESModule', path: 'worker.js', contents: script },
      { type: 'CompiledWasm', path: 'redrive.wasm', contents: readFileSync(join(unpacked, 'redrive.wasm')) },
    ],
    compatibilityDate: '2026-07-01',
  })
  try {
    const api = `${server.origin}/api/workerd`
    const response = await miniflare.dispatchFetch(`http://worker/?api=${encodeURIComponent(api)}`)
    expect(await response.json()).toEqual({ answer: expected, delay: 250 })
    expect(server.hits('/api/workerd')).toBe(2)
  } finally {
    await miniflare.dispose()
  }
})
