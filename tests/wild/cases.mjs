// The cases of a row: each asks the server by plain HTTP first, to see what it sends, and then by a queue with its defaults. What is right is
// judged here by the rules of docs/retries.md, apart from the code that follows them.
import { setTimeout as sleep } from 'node:timers/promises'
import { RetryQueue } from '../../pkg/index.js'
import { plain, startWire } from './wire.mjs'

/** How long the first run of a slow handler takes: longer than the first wait of a queue. */
const SLOW_MS = 3_000
/** The gateways give up on an origin after a second. */
const TOO_SLOW_MS = 4_000
const AWAY_MS = 1_500
/** The windows and bans of the limiters. */
export const WINDOW_S = 4

const seconds = (ms) => `${(ms / 1000).toFixed(1)} s`
const uuid = /[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/
const told = /^(retry-after|x-?retry|rate-?limit|x-rate-?limit)|idempot|replay/

/** The headers that say when to come again, or that an answer is a replay. */
export const tellingHeaders = (headers) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => told.test(name) && name !== 'idempotency-key'))

export const shown = ({ status, headers, isTorn }) =>
  [
    isTorn ? `${status}, then a reset` : status || 'no answer',
    ...Object.entries(tellingHeaders(headers)).map(([name, value]) => `\`${name}: ${value.replace(uuid, 'KEY')}\``),
  ].join(', ')

const isMarked = ({ headers }) =>
  Object.entries(headers).some(([name, value]) => /replay|cached-from-idempot/.test(name) && value !== 'false')

let orders = 0
const nextId = () => `order-${process.pid}-${++orders}`

async function byQueue(server, body, { lose } = {}) {
  const wire = await startWire({ port: server.port, lose })
  const queue = new RetryQueue({ name: 'wild', warn: false })
  const init =
    body === undefined
      ? {}
      : { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
  const began = performance.now()
  const end = await queue.fetch(`${wire.url}/orders/`, init).then(
    ({ status }) => ({ status }),
    (error) => ({ status: 0, error: error.code ?? error.name }),
  )
  const tookMs = performance.now() - began
  await queue.close()
  await wire.close()
  return { ...end, tookMs, passed: wire.passed }
}

/** What redrive did, in the words of the table. */
function said({ passed, tookMs, status, error }, runs) {
  const answers = passed.map((entry) => entry.status || 'lost').join(', ')
  const times = runs === undefined ? '' : `; ${runs === 1 ? 'ran once' : `ran ${runs} times`}`
  return `${answers} in ${seconds(tookMs)}${error ? `: ${error}` : ''}${status && status !== passed.at(-1)?.status ? `: ${status}` : ''}${times}`
}

/** The wait that an answer asks for in whole or decimal seconds; `Retry-After-<name>` counts where there is no other. */
function askedMs(headers) {
  const named = Object.entries(headers).filter(([name]) => /^retry-after-(?!ms$)/.test(name))
  const values = headers['retry-after'] === undefined ? named.map(([, value]) => value) : [headers['retry-after']]
  return Math.max(0, ...values.map(Number).filter(Number.isFinite)) * 1000
}

/** Attempts that began before the wait was over that the answer before them asked for. */
const early = ({ passed }) =>
  passed.slice(1).filter((entry, index) => entry.at - passed[index].answeredAt < askedMs(passed[index].headers)).length

const mayBeRetried = ({ status, headers }) =>
  [408, 429, 502, 503, 504].includes(status) || (status === 403 && headers['retry-after'] !== undefined)

/** Asks until the server refuses; `refusals`: which refusal is the one of the row. One that lets nothing through is broken. */
async function untilRefused({ port }, refusals = 1) {
  let refused = 0
  for (let asked = 0; asked < 12; asked++) {
    const answer = await plain(port)
    if (answer.status >= 400 || answer.status === 0) refused++
    if (refused > asked) throw new Error(`the first request was answered with ${answer.status}`)
    if (refused === refusals) return answer
  }
  throw new Error('was asked 12 times and refused nothing')
}

const windowIsOver = () => sleep(WINDOW_S * 1000 + 1_000)

/** A second request while the first is under way, whose answer `lose` takes away. */
async function inProgress(server, lose) {
  const [body, key] = [{ id: nextId(), ms: SLOW_MS }, crypto.randomUUID()]
  const ask = () => plain(server.port, { method: 'POST', body, key })
  const first = ask()
  await sleep(500)
  const seen = await ask()
  const { status } = await first
  const plainRuns = server.runs(body.id)
  const held = seen.tookMs > SLOW_MS / 2 ? `after ${seconds(seen.tookMs)}` : ''
  const own = { id: nextId(), ms: SLOW_MS }
  const done = await byQueue(server, own, { lose })
  const runs = server.runs(own.id)
  const wrong = []
  if (done.status !== status)
    wrong.push(`the order was done (${status}), and the caller got ${done.status || done.error}`)
  if (runs > plainRuns) wrong.push(`ran ${runs} times`)
  return {
    seen,
    note: [held, plainRuns > 1 ? `ran ${plainRuns} times` : ''].filter(Boolean).join('; '),
    did: said(done, runs),
    wrong,
  }
}

export const cases = {
  async limited(server, { refusals }) {
    const seen = await untilRefused(server, refusals)
    await windowIsOver()
    await untilRefused(server, refusals)
    const done = await byQueue(server)
    await windowIsOver()
    const wrong = []
    if (!mayBeRetried(seen)) {
      if (done.status !== seen.status || done.passed.length !== 1)
        wrong.push(`${seen.status} is final, and the caller's`)
    } else {
      if (done.status >= 400 || done.status === 0) wrong.push('gave up')
      if (early(done) > 0) wrong.push('came again early')
    }
    return { seen, did: said(done), wrong }
  },

  'in progress': (server) => inProgress(server, { afterMs: 300 }),

  'in progress, 504': (server) => inProgress(server, { afterMs: 300, status: 504 }),

  async replaying(server) {
    const [body, key] = [{ id: nextId() }, crypto.randomUUID()]
    await plain(server.port, { method: 'POST', body, key })
    const seen = await plain(server.port, { method: 'POST', body, key })
    const plainRuns = server.runs(body.id)
    const own = { id: nextId() }
    const done = await byQueue(server, own, { lose: 'answer' })
    const runs = server.runs(own.id)
    const wrong = []
    if (done.status !== seen.status) wrong.push(`got ${done.status || done.error}`)
    if (runs > plainRuns) wrong.push(`ran ${runs} times`)
    return { seen, note: plainRuns > 1 ? `ran ${plainRuns} times` : '', did: said(done, runs), wrong }
  },

  async 'failed once'(server) {
    const [body, key] = [{ id: nextId(), failures: 1 }, crypto.randomUUID()]
    const first = await plain(server.port, { method: 'POST', body, key })
    const seen = await plain(server.port, { method: 'POST', body, key })
    const isReplayed = server.runs(body.id) === 1
    const own = { id: nextId(), failures: 1 }
    const done = await byQueue(server, own)
    const runs = server.runs(own.id)
    const wrong = []
    if (!isReplayed && done.status !== 201)
      wrong.push(`the server does it the second time, and the caller got ${done.status || done.error}`)
    if (isReplayed && done.status !== seen.status)
      wrong.push(`the server keeps ${seen.status}, and the caller got ${done.status || done.error}`)
    if (isReplayed && isMarked(seen) && done.passed.length > 3)
      wrong.push(`${done.passed.length} requests for one failure that was kept`)
    const note = `${isReplayed ? 'keeps the failure' : 'does it the second time'}${isMarked(first) ? '; marks the first answer, too' : ''}`
    return { seen, note, did: said(done, runs), wrong }
  },

  async dead(server) {
    await server.origin.down()
    const seen = await plain(server.port, { method: 'POST', body: { id: nextId() } })
    const own = { id: nextId() }
    const call = byQueue(server, own)
    await sleep(AWAY_MS)
    await server.origin.up()
    const done = await call
    const [met] = done.passed
    const wrong = []
    let note = ''
    if (mayBeRetried(met) || met.status === 0) {
      if (done.status !== 201) {
        const after = await plain(server.port, { method: 'POST', body: { id: nextId() } })
        if (after.status === 201) wrong.push('gave up')
        else note = `its own ${after.status} goes on`
      }
    } else if (done.status !== met.status || done.passed.length !== 1)
      wrong.push(`${met.status} is final, and the caller's`)
    if (early(done) > 0) wrong.push('came again early')
    return { seen, note, did: said(done, server.runs(own.id)), wrong }
  },

  async slow(server) {
    const seen = await plain(server.port, { method: 'POST', body: { id: nextId(), ms: TOO_SLOW_MS } })
    const own = { id: nextId(), ms: TOO_SLOW_MS }
    const done = await byQueue(server, own)
    const [met] = done.passed
    const wrong = []
    if (mayBeRetried(met) || met.status === 0) {
      if (done.status !== 201) wrong.push('gave up')
      if (new Set(done.passed.map(({ key }) => key)).size !== 1) wrong.push('changed the key')
    } else if (done.status !== met.status) wrong.push(`${met.status} is the caller's`)
    if (early(done) > 0) wrong.push('came again early')
    return {
      seen,
      note: seen.tookMs > 2_000 ? `after ${seconds(seen.tookMs)}` : '',
      did: said(done, server.runs(own.id)),
      wrong,
    }
  },
}
