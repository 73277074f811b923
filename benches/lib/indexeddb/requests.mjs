// What is kept in every row: a POST of 2 KB of JSON to one of four origins.
import { hostDraw } from '../../../js/platform/random.ts'
import { uuid7Maker } from '../../../js/platform/uuid7.ts'
import { taskOf } from '../tasks.mjs'

export const BODY_BYTES = 2_048
export const ORIGINS = [0, 1, 2, 3].map((at) => `https://${at}.example.test`)
const WORDS =
  'order line count price left door bell ring please leave with neighbour blue green large small gift wrap'.split(' ')

const draw = hostDraw()
const newId = uuid7Maker(draw)
const encoder = new TextEncoder()
const pick = (from) => from[draw() % from.length]
let made = 0

/** Text as people's forms hold it: it compresses, and no two are alike. */
function json() {
  const lines = []
  for (let length = 0; length < BODY_BYTES; length = lines.join().length) {
    const note = Array.from({ length: 8 }, () => pick(WORDS)).join(' ')
    lines.push(`{"sku":${draw() % 1e6},"count":${draw() % 100},"price":${(draw() % 1e5) / 100},"note":"${note}"}`)
  }
  return `{"lines":[${lines.join()}`
    .slice(0, BODY_BYTES - 4)
    .replaceAll('"', "'")
    .padEnd(BODY_BYTES - 2, '.')
}

/** @returns {{ id: string, key: string, origin: string, url: string, init: object, bytes: Uint8Array, at: number }} */
export function newRequest() {
  const origin = ORIGINS[++made % ORIGINS.length]
  const body = `"${json()}"`
  const at = Date.now()
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body }
  return {
    id: newId(at),
    key: crypto.randomUUID(),
    origin,
    url: `${origin}/orders`,
    init,
    bytes: encoder.encode(body),
    at,
  }
}

/** The same as a queue would store it. */
export function taskFor({ id, key, origin, bytes }) {
  const fingerprint = Array.from({ length: 8 }, () => draw().toString(16).padStart(8, '0')).join('')
  return taskOf(origin, { taskId: id, idempotencyKey: key, fingerprint, body: bytes })
}

/** The same as a row that somebody would keep who writes it himself. */
export const rowFor = ({ id, key, url, init: { method, headers }, bytes, at }) => ({
  id,
  key,
  url,
  method,
  headers,
  body: bytes,
  dueAt: at,
})

/** Prepares `count` requests, then gives the milliseconds it takes to keep them: one after another, or all at once. */
export async function timed(peer, count, atOnce) {
  if (peer.timed) return peer.timed(count, atOnce)
  const prepared = Array.from({ length: count }, () => peer.prepare(newRequest()))
  const start = performance.now()
  if (atOnce) await peer.many(prepared)
  else for (const each of prepared) await peer.one(each)
  return performance.now() - start
}
