// A worker of BullMQ in a process of its own, as its documentation has it: a job is done if the answer is 200, and else it fails.
import { Agent, request } from 'undici'
import { openWorkers } from '../redis/bullmq.mjs'
import { answer } from './meter.mjs'

const { name, address, transport, concurrency } = JSON.parse(process.argv[2])
const dispatcher = new Agent({ connections: concurrency })

const senders = {
  async fetch({ data: { url, ...init } }) {
    const response = await fetch(url, init)
    await response.text()
    if (!response.ok) throw new Error(`${response.status}`)
  },
  async undici({ data: { url, ...init } }) {
    const { statusCode, body } = await request(url, { dispatcher, ...init })
    await body.text()
    if (statusCode !== 200) throw new Error(`${statusCode}`)
  },
}

// the target says when all are done
const options = { count: Number.POSITIVE_INFINITY, concurrency, work: senders[transport] }
const workers = await openWorkers({ name, redis: { address } }, options)

answer({
  isReady: () => true,
  run() {
    // rejects where it cannot go on, which ends the process
    workers.start()
  },
})
