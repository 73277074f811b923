/**
 * Serves an example: the folder this is started in, and an API that refuses every order twice, with 503, before it takes it.
 * `node ../serve.mjs [port]`
 */
import { flakyServer } from '../tests/servers/http.mjs'

const weights = { unavailable: 1, unavailable_retry_after: 0, too_many_requests: 0, reset_before: 0, reset_after: 0 }
/** Slow enough for a person to see the states. */
const faults = { share: 1, maxFaults: 2, weights, latencyMs: [300, 500], slowShare: 0 }
const port = Number(process.argv[2] ?? 8080)

const server = flakyServer({ faults, mounts: { '/': process.cwd() } })
server.on('error', ({ message }) => {
  console.error(`cannot listen: ${message}; name another port: node ../serve.mjs 8081`)
  process.exitCode = 1
})
server.listen(port, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`))
