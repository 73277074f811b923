// Tasks as they are posted: the request of the Redis bench, each to a path of its own.
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'
import { ATTEMPTS, callOf, WAIT_MS } from '../redis/data.mjs'

/** The attempts and the wait that BullMQ is given, too. */
export const POLICY = {
  policyId: 'bench',
  strategy: 'fixed',
  initialDelayMs: WAIT_MS,
  jitterType: 'NONE',
  maxAttempts: ATTEMPTS,
}

function requestOf(origin, path) {
  const [url, { method, headers, body }] = callOf(origin)
  return { url: `${url}/${path}`, method, headers, body, key: randomUUID() }
}

/** A task as text. `more`: other fields of it. */
export function taskText(origin, path, more = {}) {
  const { url: targetUrl, key: idempotencyKey, ...request } = requestOf(origin, path)
  return JSON.stringify({ targetUrl, ...request, idempotencyKey, policyId: POLICY.policyId, ...more })
}

/** The same as a job of BullMQ. */
export function jobOf(origin, path) {
  const { headers, key, ...request } = requestOf(origin, path)
  return { name: 'send', data: { ...request, headers: { ...headers, 'idempotency-key': key } } }
}

const JSON_TYPE = { 'content-type': 'application/json' }

/** Posts tasks on so many connections. `headers` go with each. `refused`: hears of a task that a full store does not take, which is an error otherwise. */
export function poster(url, connections, headers = {}, refused) {
  const pool = new Pool(url, { connections, pipelining: 1 })
  const asked = { path: '/retry-tasks', method: 'POST' }
  /** `more`: headers of this one. */
  const post = async (body, more) => {
    const answer = await pool.request({ ...asked, headers: { ...JSON_TYPE, ...headers, ...more }, body })
    if (answer.statusCode === 503 && refused) refused()
    else if (answer.statusCode !== 201) throw new Error(`POST: ${answer.statusCode} ${await answer.body.text()}`)
    await answer.body.dump()
  }
  return {
    /** `count` of them, one after another on each connection. `make`: what `post` is given. Resolves to the milliseconds of each. */
    async all(count, make) {
      const times = []
      let at = 0
      const run = async () => {
        while (at < count) {
          const made = make(at++)
          const from = performance.now()
          await post(...made)
          times.push(performance.now() - from)
        }
      }
      await Promise.all(Array.from({ length: connections }, run))
      return times
    },
    /** So many a second, each at its time whether others are answered or not. Resolves to the milliseconds of each, from its time on. */
    async paced(count, perSecond, make) {
      const times = []
      const asked = []
      const startedAt = performance.now()
      const postDue = () => {
        while (asked.length < count) {
          const dueAt = startedAt + (asked.length * 1_000) / perSecond
          if (dueAt > performance.now()) return false
          asked.push(post(...make(asked.length)).then(() => times.push(performance.now() - dueAt)))
        }
        return true
      }
      while (!postDue()) await sleep(1)
      await Promise.all(asked)
      return times
    },
    close: () => pool.close(),
  }
}
