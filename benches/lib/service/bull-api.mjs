// What stands in front of BullMQ where there is no service: an endpoint that takes a task and adds it to the queue.
import { createServer } from 'node:http'
import { openBull } from '../redis/bullmq.mjs'
import { answer } from './meter.mjs'

const { address } = JSON.parse(process.argv[2])
const { queue } = await openBull({ address })

const server = createServer({ keepAliveTimeout: 60_000 }, async (request, response) => {
  const parts = []
  for await (const part of request) parts.push(part)
  const { targetUrl, method, headers, body, idempotencyKey, delayMs } = JSON.parse(Buffer.concat(parts).toString())
  const data = { url: targetUrl, method, headers: { ...headers, 'idempotency-key': idempotencyKey }, body }
  const { id } = await queue.add('send', data, { jobId: idempotencyKey, ...(delayMs && { delay: delayMs }) })
  const text = JSON.stringify({ taskId: id, status: 'PENDING' })
  response.writeHead(201, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
  response.end(text)
})

answer({
  /** Its port. */
  open: () =>
    new Promise((resolve, reject) => {
      server.once('error', reject).listen(0, '127.0.0.1', () => resolve(server.address().port))
    }),
})
