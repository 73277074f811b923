/** A queue in a Worker that has no store: nothing that its caller has left would be sent again once the request has ended. */

import { expect, test } from 'vitest'
import { consumer, link } from '../packaging/consumer.ts'
import { flakyServer } from '../packaging/flaky-server.ts'
import { workerd, workerModules } from '../packaging/worker-bundle.ts'

const worker = `
import axios from 'axios'
import { RetryQueue } from 'redrive'
import { attachToAxios } from 'redrive/axios'
import { wrapFetch } from 'redrive/fetch'

const order = { method: 'POST', body: 'A-1' }
const defer = { redrive: { mode: 'defer' } }

const calls = {
  enqueue: (queue, api) => queue.enqueue(api, order),
  fetch: (queue, api) => queue.fetch(api, { ...order, ...defer }),
  wrapFetch: (queue, api) => wrapFetch(queue, { mode: 'defer' })(api, order),
  axios: (queue, api) => {
    const instance = axios.create({ adapter: 'fetch' })
    attachToAxios(instance, queue)
    return instance.post(api, 'A-1', defer)
  },
}

export default {
  async fetch(request) {
    const { pathname, searchParams } = new URL(request.url)
    const queue = new RetryQueue({ allowMemory: searchParams.has('allow') })
    try {
      const { status, durability } = await calls[pathname.slice(1)](queue, searchParams.get('api'))
      return Response.json({ status, durability })
    } catch ({ name, code, reason, message }) {
      return Response.json({ name, code, reason, message })
    }
  }
}
`

const QUEUED = { status: 202 }

test.each([
  ['enqueue', 'RetryQueue.enqueue in a Worker: ', { durability: 'memory' }],
  ['fetch', "mode: 'defer' in a Worker: ", QUEUED],
  ['wrapFetch', "mode: 'defer' in a Worker: ", QUEUED],
  ['axios', "mode: 'defer' in a Worker: ", QUEUED],
])('%s: a queue without a store refuses, unsent, what would be lost with the request', async (call, what, taken) => {
  await using server = await flakyServer()
  using project = consumer({ 'worker.js': worker })
  link(project, 'axios')
  await using miniflare = workerd(await workerModules(project.folder))
  const api = `${server.origin}/api/orders`
  const run = async (more: string) =>
    (await miniflare.dispatchFetch(`http://worker/${call}?api=${encodeURIComponent(api)}${more}`)).json()
  expect(await run('')).toEqual({
    name: 'NotDurableError',
    code: 'NOT_DURABLE',
    reason: 'no_store',
    message: expect.stringMatching(
      /nothing is kept once this request has ended; on Cloudflare .*RedriveObject, elsewhere .* store; or allowMemory: true$/,
    ),
  })
  expect(server.hits('/api/orders')).toBe(0)
  expect(await run('')).toMatchObject({ message: expect.stringContaining(what) })
  expect(await run('&allow')).toMatchObject(taken)
})
