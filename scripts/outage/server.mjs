// A server that can do so much and no more, in a process of its own: `slots` requests at once, `serviceMs` each. As many as it
// does in a second may wait; who comes on top is answered with 503. It goes down as a server does that is killed: no
// listener, no connection. Each effect is counted by the id in its path.
import { createServer } from 'node:http'

const { slots, serviceMs } = JSON.parse(process.argv[2])
const room = slots * (1_000 / serviceMs)
const waiting = []
const done = new Map()
let busy = 0
let [seen, succeeded, refused] = [0, 0, 0]

function next() {
  if (busy >= slots) return
  const visit = waiting.shift()
  if (!visit) return
  busy++
  setTimeout(() => {
    busy--
    // who hung up meanwhile gets no effect
    if (!visit.response.destroyed) {
      done.set(visit.id, (done.get(visit.id) ?? 0) + 1)
      succeeded++
      visit.response.writeHead(200).end()
    }
    next()
  }, serviceMs)
}

const server = createServer((request, response) => {
  seen++
  request.resume()
  if (waiting.length >= room) {
    refused++
    response.writeHead(503).end()
    return
  }
  waiting.push({ id: request.url, response })
  next()
})

let port = 0
const up = () => {
  server.listen(port, '127.0.0.1', () => {
    port = server.address().port
    process.send({ kind: 'up', url: `http://127.0.0.1:${port}` })
  })
}
const orders = {
  up,
  down() {
    waiting.length = 0
    server.close(() => process.send({ kind: 'down' }))
    server.closeAllConnections()
  },
  count: () => process.send({ kind: 'count', seen, succeeded, refused }),
  ledger() {
    const repeated = [...done.values()].filter((times) => times > 1).length
    process.send({ kind: 'ledger', effects: done.size, repeated })
  },
}
process.on('message', (order) => orders[order]())
process.on('disconnect', () => process.exit(0))
up()
