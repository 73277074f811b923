// What both are given: one request with 500 B of body, as an API's client sends it.
import { randomUUID } from 'node:crypto'
import { taskOf } from '../tasks.mjs'

const BODY_BYTES = 500
const headers = {
  accept: 'application/json',
  'content-type': 'application/json',
  'x-request-id': '0192f5e0-7c1a-4d0b-9a53-2f6c8e0b7d11',
}
const filler = 'two of the blue ones, and one that is green; '.repeat(12)

/** Another for each task: what is the same twice is cheaper to keep in Lua. */
function bodyText() {
  const start = `{"order":"${randomUUID()}","note":"`
  return `${start}${filler.slice(0, BODY_BYTES - start.length - 2)}"}`
}

/** Attempts that a task may take, and the wait behind one that failed. */
export const ATTEMPTS = 5
export const WAIT_MS = 1
/** Tasks that are done and still kept. */
export const KEPT_DONE = 10_000

/** What a queue makes of that request for its store; `more`: other values of it. */
export const storedTask = (origin = 'https://api.example.test', more = {}) =>
  taskOf(origin, {
    taskId: uuid7(),
    idempotencyKey: randomUUID().replaceAll('-', ''),
    fingerprint: (randomUUID() + randomUUID()).replaceAll('-', ''),
    headers,
    body: new TextEncoder().encode(bodyText()),
    ...more,
  })

/** As those of a queue: rising, and random behind that. */
function uuid7() {
  const millis = Date.now().toString(16).padStart(12, '0')
  return `${millis.slice(0, 8)}-${millis.slice(8)}-7${randomUUID().slice(15)}`
}

/** The same for BullMQ's addBulk. */
export const job = (origin = 'https://api.example.test') => ({
  name: 'send',
  data: { url: `${origin}/orders`, method: 'POST', headers, body: bodyText() },
})

/** The same as a call of a queue. */
export const callOf = (origin) => [`${origin}/orders`, { method: 'POST', headers, body: bodyText() }]

export const madeOf = (count, make) => Array.from({ length: count }, (_, i) => make(i))

/** Hands `list` over in calls of `size`, one after another. */
export async function inCalls(list, size, call) {
  for (let from = 0; from < list.length; from += size) await call(list.slice(from, from + size))
}
