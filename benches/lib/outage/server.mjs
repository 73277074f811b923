// A server that answers in five milliseconds, unless it is away or slow. It is ordered about by messages; to hang it is stopped from outside.
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

let refuses = false
let takesMs = 5
let [requests, refused] = [0, 0]
const server = createServer(async (_request, response) => {
  requests++
  if (refuses) {
    refused++
    response.writeHead(503).end('away')
    return
  }
  await sleep(takesMs)
  response.end('here')
})
server.keepAliveTimeout = 60_000
const listen = (port) =>
  server.listen(port, '127.0.0.1', 4_096, () => process.send({ port: server.address().port, requests, refused }))
process.on('message', ({ order, port, ms }) => {
  if (order === 'refuse') refuses = true
  else if (order === 'slow') takesMs = ms
  else if (order === 'answer') refuses = false
  else if (order === 'close') {
    server.close()
    server.closeAllConnections()
  } else if (order === 'listen') return listen(port)
  process.send({ requests, refused })
})
process.once('disconnect', () => process.exit())
listen(0)
