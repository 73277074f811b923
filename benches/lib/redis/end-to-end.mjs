// From the queue to the server it sends to: requests that wait in Redis, and are all sent.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Agent, request } from 'undici'
import { RetryQueue } from '../package.mjs'
import { queueOptions } from '../tasks.mjs'
import * as bull from './bullmq.mjs'
import { callOf, inCalls, job, KEPT_DONE, madeOf } from './data.mjs'
import * as ours from './ours.mjs'
import { inTurns, metered } from './rounds.mjs'

const AT_ONCE = 64
const A_CALL = 200

async function sendByFetch({ data: { url, ...init } }) {
  const response = await fetch(url, init)
  if (!response.ok) throw new Error(`${response.status}`)
  await response.text()
}

/** `fetch` by undici's request, with no more than these requests need: what another transport would be worth. */
const fetchByUndici =
  (dispatcher) =>
  async (url, { method, headers, body, signal }) => {
    const answer = await request(url, { dispatcher, method, headers: Object.fromEntries(headers), body, signal })
    return new Response(await answer.body.text(), { status: answer.statusCode })
  }

const sendByUndici =
  (dispatcher) =>
  async ({ data: { url, ...init } }) => {
    const { statusCode, body } = await request(url, { dispatcher, ...init })
    if (statusCode !== 200) throw new Error(`${statusCode}`)
    await body.text()
  }

export async function endToEnd(redis, count, { rounds }) {
  const target = fork(fileURLToPath(new URL('target.mjs', import.meta.url)), { execArgv: [] })
  const [port] = await once(target, 'message')
  const origin = `http://127.0.0.1:${port}`
  const dispatcher = new Agent({ connections: AT_ONCE })

  const redrive = (kind, fetch) => async () => {
    await redis.empty()
    const store = ours.openQueueStore(redis, kind)
    const options = { concurrency: AT_ONCE, retention: { maxTerminal: KEPT_DONE }, warn: false }
    const queue = new RetryQueue(queueOptions(store, fetch, options))
    await queue.ready
    queue.pause()
    const calls = madeOf(count, () => callOf(origin))
    const enqueue = await metered(redis, count, () =>
      inCalls(calls, A_CALL, (part) => Promise.all(part.map(([url, init]) => queue.enqueue(url, init)))),
    )
    const run = await metered(redis, count, async () => {
      queue.resume()
      await queue.idle()
    })
    await queue.close()
    return { enqueue, run }
  }

  const bullmq = (work) => async () => {
    await redis.empty()
    const opened = await bull.openBull(redis)
    const jobs = madeOf(count, () => job(origin))
    const enqueue = await metered(redis, count, () => inCalls(jobs, A_CALL, (part) => opened.queue.addBulk(part)))
    const workers = await bull.openWorkers(opened, { count, concurrency: AT_ONCE, work })
    const run = await metered(redis, count, () => workers.start())
    await workers.close()
    await opened.close()
    return { enqueue, run }
  }

  /** No queue at all: what sending costs by itself. */
  const bare = (send) => async () => {
    const jobs = madeOf(count, () => job(origin))
    const run = await metered(redis, count, () =>
      Promise.all(
        Array.from({ length: AT_ONCE }, async () => {
          for (let next = jobs.pop(); next; next = jobs.pop()) await send(next)
        }),
      ),
    )
    return { run }
  }

  try {
    const figures = await inTurns(
      {
        'redrive, ioredis': redrive('ioredis'),
        'redrive, node-redis': redrive('node-redis'),
        'redrive, undici.request': redrive('ioredis', fetchByUndici(dispatcher)),
        'BullMQ, fetch': bullmq(sendByFetch),
        'BullMQ, undici.request': bullmq(sendByUndici(dispatcher)),
        'no queue, fetch': bare(sendByFetch),
        'no queue, undici.request': bare(sendByUndici(dispatcher)),
      },
      { rounds },
    )
    const part = (name) =>
      Object.fromEntries(Object.entries(figures).flatMap(([who, all]) => (all[name] ? [[who, all[name]]] : [])))
    return { enqueue: part('enqueue'), run: part('run') }
  } finally {
    await dispatcher.close()
    target.disconnect()
  }
}
