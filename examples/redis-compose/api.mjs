// The API of the example: it refuses each order twice, and takes an order once, however often it comes.
import { createServer } from 'node:http'

const seen = new Map()
const api = createServer((request, response) => {
  if (request.method === 'GET') return response.end(JSON.stringify(Object.fromEntries(seen)))
  const key = request.headers['idempotency-key']
  const attempts = (seen.get(key) ?? 0) + 1
  seen.set(key, attempts)
  response.writeHead(attempts > 2 ? 201 : 503).end()
})
api.listen(process.env.PORT ?? 3000, () => console.log(`listens on ${api.address().port}`))
process.once('SIGTERM', () => process.exit(0))
