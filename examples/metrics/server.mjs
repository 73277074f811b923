/**
 * A server whose queue calls another server, with metrics of that for Prometheus.
 *
 *   node examples/metrics/server.mjs http://127.0.0.1:9000/api '{"capacity":500}'
 *
 * after `npm run build`; the second word is options of the queue, as JSON.
 *
 *   POST /orders     sends an order to the upstream, through the queue; answers 202
 *   GET  /metrics    what a Prometheus scrapes
 *
 * Listens on loopback, prints its address, and ends when its stdin does.
 */
import { createServer } from 'node:http'
import { Registry } from 'prom-client'
import { RetryQueue } from '../../pkg/index.js'
import { registerMetrics } from '../../pkg/prometheus.js'

const [upstream = 'http://127.0.0.1:9000/api', options = '{}'] = process.argv.slice(2)

const queue = new RetryQueue({ name: 'orders', ...JSON.parse(options) })
const register = new Registry()
registerMetrics(queue, { register })

const routes = {
  async 'POST /orders'(response) {
    const init = { method: 'POST', body: JSON.stringify({ ordered: true }), redrive: { mode: 'defer' } }
    // deferred: after a transient failure the queue takes over, and the metrics show it
    const answer = await queue.fetch(upstream, init).catch(() => undefined)
    await answer?.arrayBuffer()
    response.writeHead(202).end()
  },
  async 'GET /metrics'(response) {
    response.writeHead(200, { 'content-type': register.contentType }).end(await register.metrics())
  },
}

const server = createServer((request, response) => {
  const route = routes[`${request.method} ${request.url}`]
  if (!route) return response.writeHead(404).end()
  route(response).catch((error) => response.writeHead(500).end(error.message))
})
server.listen(0, '127.0.0.1', () => console.log(JSON.stringify({ url: `http://127.0.0.1:${server.address().port}` })))
process.stdin.on('end', () => process.exit(0)).resume()
