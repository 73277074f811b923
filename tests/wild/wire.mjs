// The wire between redrive and a server: it passes everything on as it came, writes down what passed, and can lose the first answer while
// the server works on, as a network does and a server's own test client does not.
import { createServer, request } from 'node:http'
import { listen } from './start.mjs'

/**
 * @param {{ port: number, lose?: { afterMs: number, status?: number } | 'answer' }} options `lose`: the first request's connection breaks so
 *   long after it came, or once its answer is there; with a `status`, it has that answer then, as from a gateway that has waited for long enough
 */
export async function startWire({ port, lose }) {
  const passed = []
  const server = createServer((incoming, outgoing) => {
    const entry = { at: performance.now(), status: 0, headers: {} }
    entry.key = incoming.headers['idempotency-key']
    passed.push(entry)
    const isLost = lose !== undefined && passed.length === 1
    const lost = () => {
      if (!isLost || lose.status === undefined) return void outgoing.destroy()
      if (outgoing.headersSent) return
      entry.status = lose.status
      outgoing.writeHead(lose.status).end()
    }
    const { method, url: path, rawHeaders: headers } = incoming
    const onward = request({ host: '127.0.0.1', port, method, path, headers, agent: false }, (answer) => {
      if (isLost) {
        answer.resume()
        return lose === 'answer' ? void answer.on('end', lost) : undefined
      }
      entry.answeredAt = performance.now()
      entry.status = answer.statusCode
      entry.headers = answer.headers
      outgoing.writeHead(answer.statusCode, answer.rawHeaders)
      answer.pipe(outgoing)
    })
    onward.on('error', lost)
    incoming.pipe(onward)
    if (isLost && lose !== 'answer') setTimeout(lost, lose.afterMs)
  })
  const ownPort = await listen(server)
  return {
    url: `http://127.0.0.1:${ownPort}`,
    passed,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** One request as it is, without a queue; `status` 0: the connection ended without an answer. */
export function plain(port, { method = 'GET', path = '/orders/', body, key } = {}) {
  const bytes = body === undefined ? undefined : JSON.stringify(body)
  const headers = {
    ...(bytes === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(bytes) }),
    ...(key === undefined ? {} : { 'idempotency-key': key }),
  }
  const began = performance.now()
  return new Promise((resolve) => {
    const end = (answer) => resolve({ ...answer, tookMs: performance.now() - began })
    const asked = request(
      { host: '127.0.0.1', port, method, path, headers, agent: false, timeout: 20_000 },
      (answer) => {
        answer.resume()
        const { statusCode: status, headers } = answer
        answer.on('error', () => end({ status, headers, isTorn: true }))
        answer.on('end', () => end({ status, headers }))
      },
    )
    asked.on('timeout', () => asked.destroy())
    asked.on('error', () => end({ status: 0, headers: {} }))
    asked.end(bytes)
  })
}
