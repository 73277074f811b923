// Which of 20 headers may be kept and shown. All give the same answer for these headers; only the core's rules also refuse
// what HTTP does not allow, take the caller's own patterns, know names they have no entry for, and look into values.
import { HEADER_DROPPED, HEADER_KEPT, HEADER_UNKNOWN, HEADER_WITHHELD } from '../../../js/core/codes.ts'
import { instantiate } from '../../../js/core/file.ts'
import { Sanitizer } from '../../../js/core/sanitizer.ts'

const KEPT = {
  Accept: 'application/json',
  'Accept-Language': 'de-DE,de;q=0.9,en;q=0.8',
  'Content-Type': 'application/json; charset=utf-8',
  'Idempotency-Key': '"0193a1f2-7c5e-7d31-9b5e-6f2a4c1d8e90"',
  'If-None-Match': '"33a64df551425fcc55e4d42a148795d9f25f89d4"',
  'X-Request-Id': 'b3f1a0c2-51d4-4f0e-9d3b-2c7a0e3b9f11',
  'Content-Language': 'de',
  Prefer: 'return=minimal',
  'Cache-Control': 'no-cache',
  'If-Match': '"9"',
}
const WITHHELD = {
  Authorization: 'Bearer not-a-token',
  Cookie: 'session=not-a-session',
  'X-Api-Key': 'not-a-key',
  'Proxy-Authorization': 'Basic bm90OmE=',
}
const DROPPED = { Connection: 'keep-alive', Host: 'api.example.test', 'Content-Length': '318' }
const UNKNOWN = { 'X-Shop-Region': 'eu-north', 'X-Cart-Version': '17', 'X-Experiment': 'checkout-b' }

const lists = { ...KEPT, ...WITHHELD, ...DROPPED, ...UNKNOWN }

/** As they come from a request: kept and other ones mixed. */
const given = Object.entries(lists)
  .map((header, i) => [(i * 7) % 20, header])
  .sort(([a], [b]) => a - b)
  .map(([, header]) => header)

function sort(classOf) {
  const headers = {}
  const withheld = []
  const unknown = []
  for (const [given_, value] of given) {
    const name = given_.toLowerCase()
    const found = classOf(name, given_)
    if (found === HEADER_KEPT) headers[name] = value
    else if (found === HEADER_UNKNOWN) unknown.push(name)
    else if (found === HEADER_WITHHELD) withheld.push(name)
  }
  return { headers, withheld, unknown }
}

export async function groups() {
  const engine = await instantiate()
  const { glue, scratch, memory } = engine
  const sanitizer = new Sanitizer(engine, {})
  const rules = new glue.HeaderRules(scratch.text(''), 0)

  const answer = sanitizer.headers(given)
  const kept = new Set(Object.keys(answer.headers))
  const withheld = new Set(answer.withheld)
  const unknown = new Set(answer.unknown)
  const bySets = (name) =>
    kept.has(name)
      ? HEADER_KEPT
      : withheld.has(name)
        ? HEADER_WITHHELD
        : unknown.has(name)
          ? HEADER_UNKNOWN
          : HEADER_DROPPED
  const memo = new Map()
  const byMemo = (name, as) => {
    let found = memo.get(as)
    if (found === undefined) {
      found = bySets(name)
      memo.set(as, found)
    }
    return found
  }
  const encoder = new TextEncoder()
  const oneByOne = (name) => {
    const at = glue.scratch(name.length * 3)
    const { written } = encoder.encodeInto(name, new Uint8Array(memory.buffer, at, name.length * 3))
    rules.classify(written)
    return new Uint8Array(memory.buffer, at, 1)[0]
  }
  return [
    {
      name: '20 headers',
      same: true,
      rounds: 101,
      contestants: {
        'redrive, Sanitizer': () => sanitizer.headers(given),
        'JS Set + toLowerCase': () => sort(bySets),
        'JS memo of names': () => sort(byMemo),
        'the core, a call for each name': () => sort(oneByOne),
      },
    },
  ]
}
