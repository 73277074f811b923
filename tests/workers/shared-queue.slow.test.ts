/** A queue that is made once, for all requests of an isolate: each of them has timers and attempts of its own, as workerd demands. */

import { expect, test } from 'vitest'
import { consumer } from '../packaging/consumer.ts'
import { flakyServer } from '../packaging/flaky-server.ts'
import { workerd, workerModules } from '../packaging/worker-bundle.ts'

const CALLERS = 30

const worker = `
import { RetryQueue } from 'redrive'
import { wrapFetch } from 'redrive/fetch'

const options = { policy: { initialDelayMs: 60, strategy: 'fixed' } }
const ofModule = new RetryQueue(options)
const degraded = []
ofModule.on('degraded', ({ code }) => degraded.push(code))
let lazy

export default {
  async fetch(request) {
    const { pathname, searchParams } = new URL(request.url)
    const api = searchParams.get('api')
    const queue = pathname === '/module' ? ofModule : (lazy ??= new RetryQueue(options))
    if (searchParams.has('stats')) return Response.json({ ...queue.stats(), degraded })
    try {
      const response = await wrapFetch(queue)(api, { method: 'POST', body: 'A-1', signal: AbortSignal.timeout(20_000) })
      return new Response(await response.text(), { status: response.status })
    } catch (error) {
      return new Response(String(error), { status: 599 })
    }
  }
}
`

test.each(['/module', '/lazy'])('%s: thirty requests at once and after one another are all retried', async (path) => {
  await using server = await flakyServer()
  using project = consumer({ 'worker.js': worker })
  const miniflare = workerd(await workerModules(project.folder))
  try {
    const call = async (i: number) => {
      await new Promise((resolve) => setTimeout(resolve, i * 15))
      const api = encodeURIComponent(`${server.origin}/api/${i}`)
      const response = await miniflare.dispatchFetch(`http://worker${path}?api=${api}`)
      return `${response.status} ${await response.text()}`
    }
    const answers = await Promise.all(Array.from({ length: CALLERS }, (_, i) => call(i)))
    expect(answers).toEqual(answers.map(() => '200 attempt 2'))
    const stats = await (await miniflare.dispatchFetch(`http://worker${path}?stats`)).json()
    expect(stats).toMatchObject({ attempts: 2 * CALLERS, degraded: [] })
  } finally {
    await miniflare.dispose()
  }
})
