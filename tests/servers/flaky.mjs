/**
 * The flaky API as a process of its own, so that the client under test shares neither its event loop nor its clock.
 *
 *   node flaky.mjs '{"faults":{"seed":7,"share":0.3},"mounts":{"/pkg/":"pkg"},"port":0}'
 *
 * Listens on loopback, prints `{"url":"http://127.0.0.1:PORT"}` when ready and ends when its stdin does: a parent that
 * dies takes it along.
 */
import { flakyServer } from './http.mjs'

const { port = 0, ...options } = JSON.parse(process.argv[2] ?? '{}')
const server = flakyServer(options)

server.listen(port, '127.0.0.1', () => {
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${server.address().port}` })}\n`)
})
server.on('error', (error) => {
  process.stderr.write(`the flaky server cannot listen: ${error.message}\n`)
  process.exit(1)
})
process.stdin.on('end', () => process.exit(0)).resume()
