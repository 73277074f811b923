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
  await using miniflare = workerd(await workerModules(project.folder))
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
})

const apart = `
import { RetryQueue } from 'redrive'

const queue = new RetryQueue({ allowMemory: true, policy: { initialDelayMs: 900, strategy: 'fixed', jitterType: 'NONE' } })
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

export default {
  async fetch(request) {
    const { pathname, searchParams } = new URL(request.url)
    const [own, other] = ['own', 'other'].map((name) => searchParams.get('api') + name)
    if (pathname === '/cut-off') {
      void queue.fetch(other, { method: 'POST' })
      await wait(50)
      return new Response()
    }
    const { taskId } = await queue.enqueue(own)
    await wait(400)
    const found = await queue.get(taskId)
    const cancelled = await queue.cancel(taskId)
    const late = await queue.enqueue(own + '2')
    await wait(400)
    await queue.idle()
    return Response.json([found?.status, cancelled, (await queue.get(late.taskId))?.status])
  }
}
`

test('a request has its own tasks, whatever others ask meanwhile, and waits in idle() for its own calls alone', async () => {
  await using server = await flakyServer()
  using project = consumer({ 'worker.js': apart })
  await using miniflare = workerd(await workerModules(project.folder))
  const ask = (path: string) =>
    miniflare.dispatchFetch(`http://worker${path}?api=${encodeURIComponent(`${server.origin}/api/`)}`)
  await ask('/cut-off')
  const own = ask('/own')
  for (let i = 0; i < 8; i++) {
    await new Promise((resolve) => setTimeout(resolve, 100))
    await ask('/cut-off')
  }
  expect(await (await own).json()).toEqual(['PENDING', 'cancelled', 'SUCCEEDED'])
  expect(server.hits('/api/own')).toBe(1)
})
