// The server, in a process of its own. It takes 20 ms for an answer, fails the same attempts of the same calls for everyone, and
// closes its port for a while once it has seen `awayAfter` requests.
import { createServer } from 'node:http'
import { lot } from './faults.mjs'

const SERVICE_MS = 20
let world
let attempts
let [seen, inFlight, mostInFlight] = [0, 0, 0]

const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  request.resume()
  seen++
  mostInFlight = Math.max(mostInFlight, ++inFlight)
  const id = Number(request.url.slice(request.url.lastIndexOf('/') + 1))
  const attempt = (attempts.get(id) ?? 0) + 1
  attempts.set(id, attempt)
  if (world.awayMs > 0 && seen === world.awayAfter) goAway()
  setTimeout(() => {
    inFlight--
    if (response.destroyed) return
    const failed = lot(world.seed, id, attempt) < world.failShare
    const body = failed ? '{"ok":false}' : '{"ok":true}'
    response.writeHead(failed ? 503 : 200, { 'content-type': 'application/json', 'content-length': body.length })
    response.end(body)
  }, SERVICE_MS)
})

let port = 0
const listen = () => new Promise((resolve) => server.listen(port, '127.0.0.1', resolve))

function goAway() {
  server.close()
  server.closeAllConnections()
  setTimeout(listen, world.awayMs)
}

process.on('message', (order) => {
  if (order.world) {
    world = order.world
    attempts = new Map()
    ;[seen, inFlight, mostInFlight] = [0, 0, 0]
  }
  process.send({ seen, mostInFlight })
})
process.on('disconnect', () => process.exit(0))
await listen()
port = server.address().port
process.send({ port })
