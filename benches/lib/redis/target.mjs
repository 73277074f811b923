// Where requests go: in a process of its own, which reads each of them to its end and says yes.
import { createServer } from 'node:http'

const answer = '{"ok":true}'
const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  request.resume()
  request.on('end', () => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': answer.length })
    response.end(answer)
  })
})

server.listen(0, '127.0.0.1', () => process.send?.(server.address().port))
process.on('disconnect', () => process.exit(0))
