// workerd forbids compiling bytes: there the module comes by a static import, which its bundler
// leaves beside the code.
import { expect, test } from 'vitest'
import { consumer, expected, program } from './consumer.ts'
import { flakyServer } from './flaky-server.ts'
import { workerd, workerModules } from './worker-bundle.ts'

const worker = `
import { main } from './queue.js'
import { loadCore } from 'redrive/core'
export default {
  async fetch(request) {
    const answer = await main(new URL(request.url).searchParams.get('api'))
    const core = await loadCore()
    const delay = core.calculateBackoffDelay({ strategy: 'fixed', initialDelayMs: 250, jitterType: 'NONE' }, 1)
    return Response.json({ answer, delay, json: core.canonicalJson('{ "b": 1, "a": 2 }') })
  }
}
`

test('workerd runs the queue from the static module', async () => {
  await using server = await flakyServer()
  using project = consumer({ 'worker.js': worker, 'queue.js': program })
  const modules = await workerModules(project.folder)
  expect(modules[0]?.contents, 'the inline module belongs to the other entry').not.toMatch(/[A-Za-z0-9+/]{2000}/)
  await using miniflare = workerd(modules)
  const api = `${server.origin}/api/workerd`
  const response = await miniflare.dispatchFetch(`http://worker/?api=${encodeURIComponent(api)}`)
  expect(await response.json()).toEqual({ answer: expected, delay: 250, json: '{"a":2,"b":1}' })
  expect(server.hits('/api/workerd')).toBe(2)
})
