// In a process of its own, so that its work is not counted: every URL answers 503 once, then 200.
import { createServer } from 'node:http'

const failedOnce = new Set()

const server = createServer((request, response) => {
  request.resume()
  const again = failedOnce.delete(request.url)
  if (!again) failedOnce.add(request.url)
  const body = again ? '{"ok":true}' : '{"ok":false}'
  response.writeHead(again ? 200 : 503, { 'content-type': 'application/json', 'content-length': body.length })
  response.end(body)
})

server.listen(0, '127.0.0.1', () => process.send?.(server.address().port))
process.on('disconnect', () => process.exit(0))
