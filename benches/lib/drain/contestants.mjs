// Each library as its own documentation has it, six calls at a time. A contestant gets `alike` (the waits of faults.mjs, or its own
// defaults) and gives `call(url, id)`, which resolves once the body of a good answer is read and rejects when the call is lost.
import { setTimeout as sleep } from 'node:timers/promises'
import { ALIKE, waitOf } from './faults.mjs'

const CONCURRENCY = 6
const RETRIES = ALIKE.attempts - 1

async function textOf(response) {
  const text = await response.text()
  if (!response.ok) throw new Error(`${response.status}`)
  return text
}

const sendOnce = async (url) => textOf(await fetch(url))

async function limit() {
  const { default: PQueue } = await import('p-queue')
  return new PQueue({ concurrency: CONCURRENCY })
}

/** redrive makes its waits of its own jitter, of the same size. */
const ownWaits = { initialDelayMs: ALIKE.initialMs, jitterType: 'FULL', maxAttempts: ALIKE.attempts }

async function openQueue(alike, more) {
  const { RetryQueue } = await import('../package.mjs')
  const waits = alike ? { policy: ownWaits } : {}
  const queue = new RetryQueue({ concurrency: CONCURRENCY, warn: false, ...waits, ...more })
  await queue.ready
  return queue
}

async function awaited(alike, more) {
  const { wrapFetch } = await import('../package.mjs')
  const queue = await openQueue(alike, more)
  const wrapped = wrapFetch(queue)
  return { call: async (url) => textOf(await wrapped(url)), close: () => queue.close() }
}

export const contestants = {
  'redrive, awaited': {
    how: 'limitFirstAttempts: true',
    open: ({ alike }) => awaited(alike, { limitFirstAttempts: true }),
  },
  'redrive, awaited, held': {
    how: "limitFirstAttempts: true, breaker: { whenOpen: 'hold' }",
    open: ({ alike }) => awaited(alike, { limitFirstAttempts: true, breaker: { whenOpen: 'hold' } }),
  },
  'redrive, first attempts at once': { how: 'as it is by default', open: ({ alike }) => awaited(alike, {}) },
  'redrive, enqueued': {
    how: 'enqueue(), then result()',
    async open({ alike }) {
      const queue = await openQueue(alike, {})
      const call = async (url) => {
        const { taskId } = await queue.enqueue(url)
        const { error } = await queue.result(taskId)
        if (error) throw error
      }
      return { call, close: () => queue.close() }
    },
  },
  'p-queue + p-retry': {
    how: 'queue.add(() => pRetry(..)): a task keeps its place while it waits',
    async open({ alike, seed }) {
      const queue = await limit()
      const { default: pRetry } = await import('p-retry')
      const waits = (id) =>
        alike && {
          retries: RETRIES,
          minTimeout: 0,
          onFailedAttempt: ({ attemptNumber, retriesLeft }) =>
            retriesLeft > 0 ? sleep(waitOf(seed, id, attemptNumber)) : undefined,
        }
      return { call: (url, id) => queue.add(() => pRetry(() => sendOnce(url), waits(id) || {})) }
    },
  },
  'ky + p-queue': {
    how: 'ky has no limit of its own; a task keeps its place while it waits',
    async open({ alike, seed }) {
      const queue = await limit()
      const { default: ky } = await import('ky')
      const retry = (id) => (alike ? { retry: { limit: RETRIES, delay: (count) => waitOf(seed, id, count) } } : {})
      return { call: (url, id) => queue.add(() => ky(url, retry(id)).text()) }
    },
  },
  'axios-retry + p-queue': {
    how: 'axios-retry has no limit of its own, and waits for nothing by default',
    async open({ alike, seed }) {
      const queue = await limit()
      const [{ default: axios }, { default: axiosRetry }] = await Promise.all([import('axios'), import('axios-retry')])
      const client = axios.create()
      axiosRetry(client)
      const retry = (id) => ({ retries: RETRIES, retryDelay: (count) => waitOf(seed, id, count) })
      return {
        call: (url, id) => queue.add(() => client.get(url, alike ? { 'axios-retry': retry(id) } : {})),
      }
    },
  },
  'undici RetryAgent': {
    how: 'new RetryAgent(new Agent({ connections: 6 }))',
    async open({ alike, seed }) {
      const { Agent, request, RetryAgent } = await import('undici')
      const agent = new Agent({ connections: CONCURRENCY })
      const ids = (path) => Number(path.slice(path.lastIndexOf('/') + 1))
      const retry = (error, { state, opts }, done) => {
        if (state.counter > RETRIES) done(error)
        else setTimeout(done, waitOf(seed, ids(opts.path), state.counter), null)
      }
      const dispatcher = new RetryAgent(agent, alike ? { maxRetries: RETRIES, retry } : {})
      const call = async (url) => {
        const { statusCode, body } = await request(url, { dispatcher })
        const text = await body.text()
        if (statusCode !== 200) throw new Error(`${statusCode}`)
        return text
      }
      return { call, close: () => agent.close() }
    },
  },
  'hand-written loop': {
    how: 'six workers; by default five attempts, and 1, 2, 4 and 8 s between them',
    async open({ alike, seed }) {
      const waiting = []
      let free = CONCURRENCY
      const attempts = alike ? ALIKE.attempts : 5
      const work = async ({ url, id, resolve, reject }) => {
        for (let attempt = 1; ; attempt++) {
          try {
            return resolve(await sendOnce(url))
          } catch (error) {
            if (attempt === attempts) return reject(error)
            await sleep(alike ? waitOf(seed, id, attempt) : 1_000 * 2 ** (attempt - 1))
          }
        }
      }
      const pump = async () => {
        free--
        for (let task = waiting.shift(); task; task = waiting.shift()) await work(task)
        free++
      }
      const call = (url, id) =>
        new Promise((resolve, reject) => {
          waiting.push({ url, id, resolve, reject })
          if (free > 0) pump()
        })
      return { call }
    },
  },
  BullMQ: {
    how: 'three attempts and 1 s, then 2 s by default, as in its guide; memory without that of Redis',
    needsRedis: true,
    async open({ alike, redisPort }) {
      // not among the packages of this repository: parts of it for other platforms are not to be had everywhere
      const { Queue, QueueEvents, Worker } = await import('bullmq')
      const connection = { host: '127.0.0.1', port: redisPort, maxRetriesPerRequest: null }
      const queue = new Queue('drain', { connection })
      const events = new QueueEvents('drain', { connection })
      const worker = new Worker('drain', ({ data }) => sendOnce(data.url), { connection, concurrency: CONCURRENCY })
      await Promise.all([events.waitUntilReady(), worker.waitUntilReady()])
      const waits = alike
        ? { attempts: ALIKE.attempts, backoff: { type: 'exponential', delay: ALIKE.initialMs, jitter: 1 } }
        : { attempts: 3, backoff: { type: 'exponential', delay: 1_000 } }
      const call = async (url) => (await queue.add('get', { url }, waits)).waitUntilFinished(events)
      return { call, close: () => Promise.all([worker.close(), events.close(), queue.close()]) }
    },
  },
}
