// BullMQ, as its documentation has it.
import { Queue, UnrecoverableError, Worker } from 'bullmq'
import { ATTEMPTS, KEPT_DONE, WAIT_MS } from './data.mjs'

let names = 0

const connectionTo = ({ address }) => ({ ...address, maxRetriesPerRequest: null })

/** A queue without jobs, connected. `delayMs`: none of its jobs may run before. */
export async function openBull(redis, { delayMs } = {}) {
  const name = `bench-${++names}`
  const queue = new Queue(name, {
    connection: connectionTo(redis),
    defaultJobOptions: {
      attempts: ATTEMPTS,
      backoff: { type: 'fixed', delay: WAIT_MS },
      ...(delayMs !== undefined && { delay: delayMs }),
    },
  })
  await queue.waitUntilReady()
  return { name, queue, redis, close: () => queue.close() }
}

/** Workers that wait for `start`, which resolves once `count` jobs are done. */
export async function openWorkers({ name, redis }, { count, runners = 1, concurrency = 64, work = async () => {} }) {
  const options = {
    connection: connectionTo(redis),
    autorun: false,
    concurrency,
    removeOnComplete: { count: KEPT_DONE },
  }
  const workers = Array.from({ length: runners }, () => new Worker(name, work, options))
  await Promise.all(workers.map((worker) => worker.waitUntilReady()))
  let left = count
  return {
    start: () =>
      new Promise((resolve, reject) => {
        for (const worker of workers) {
          worker.on('completed', () => {
            if (--left === 0) resolve()
          })
          worker.on('error', reject)
          worker.on('failed', (_, error) => {
            if (error instanceof UnrecoverableError) reject(error)
          })
          worker.run().catch(reject)
        }
      }),
    close: () => Promise.all(workers.map((worker) => worker.close())),
  }
}

/** A processor whose jobs fail at their first attempt. */
export async function failsOnce({ attemptsMade }) {
  if (attemptsMade === 0) throw new Error('503')
}
