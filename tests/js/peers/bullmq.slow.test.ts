/** BullMQ's cells in the README's table, held against BullMQ itself on a Redis. */

import { Queue, Worker } from 'bullmq'
import { expect, test } from 'vitest'
import { startServer } from '../../redis/servers.ts'
import { rowOf } from './readme.ts'

test('it keeps a job for the process that comes after, and asks a server that is down for each', async () => {
  await using redis = await startServer()
  const connection = { ...redis.address, maxRetriesPerRequest: null }
  const JOBS = 40
  const made = new Queue('orders', { connection })
  await made.addBulk(Array.from({ length: JOBS }, (_, i) => ({ name: 'post', data: i })))
  await made.close()
  expect(rowOf('survives a reload or crash').BullMQ).toBe('yes')

  let asked = 0
  const lost = async () => {
    asked++
    throw new TypeError('fetch failed')
  }
  const worker = new Worker('orders', lost, { connection })
  let failed = 0
  worker.on('failed', () => failed++)
  await expect.poll(() => failed, { timeout: 20_000 }).toBe(JOBS)
  await worker.close()
  expect([asked, rowOf('stops calling a server that is down').BullMQ]).toEqual([JOBS, 'no'])
})
