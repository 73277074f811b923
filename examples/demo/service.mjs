/**
 * `npm run demo -- --service`: the retry service as three processes on one store. One takes orders by HTTP, two send them to a shop that
 * is down for a while and then fails one request in three. One of the two is killed on the way, and the other does its work.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { order, queueOptions, serverFaults } from './calls.js'
import { curlLine, Serving } from './serving.mjs'
import { tidyAtExit } from './tidy.mjs'
import { Watch } from './watch.mjs'

/** Most requests to the shop at once, from both workers together. */
export const concurrency = 8
const unavailable = {
  unavailable: 1,
  unavailable_retry_after: 0,
  too_many_requests: 0,
  reset_before: 0,
  reset_after: 0,
}
/** It takes its time, so that a worker that is killed leaves something behind. */
const faults = { ...serverFaults, latencyMs: [150, 450] }
/** At first the shop answers 503 and nothing else. */
export const awayFaults = { ...faults, share: 1, weights: unavailable, maxFaults: 1_000 }
const laterFaults = { ...faults, share: 1 / 3, maxFaults: 20 }
const awayMs = 3_000
const betweenOrdersMs = 60
/** Orders name it, which keeps their line short. */
const policy = { policyId: 'shop', ...queueOptions.policy, maxAttempts: 30 }
/** A service asks for 30 s, after which another process repeats what a killed one had in flight; too long for a demo. */
const leaseMs = 2_000

/** A file that all processes open, in a folder of its own. */
export function sqliteFile() {
  const folder = mkdtempSync(join(tmpdir(), 'redrive-demo-'))
  const tidy = () => rmSync(folder, { recursive: true, force: true })
  return { url: `sqlite:${join(folder, 'orders.db')}`, tidy, end: async () => tidy() }
}

/** A Redis of its own. `binary`: a redis-server. */
export async function redisOfItsOwn(binary) {
  const { startServer } = await import('../../tests/redis/servers.ts')
  const server = await startServer({ binary, appendonly: true })
  const tidy = () => rmSync(server.folder, { recursive: true, force: true })
  return { url: server.url, tidy, end: () => server.end() }
}

/** Posts an order per call of the board, kills a worker; resolves to how many tasks have succeeded. `openStore`: one of those above. */
export async function placeThroughService({ server, board, note, sayAtEnd, addFigure, openStore }) {
  const store = await openStore()
  const crew = new Crew(store.url)
  const stopTidying = tidyAtExit(() => {
    crew.kill()
    store.tidy()
  })
  note('three times `redrive serve`: one takes orders, two send them', 'dim')
  try {
    await crew.ready()
    const watch = new Watch({ api: crew.api, server, board })
    const placed = placeAll(crew.api, { server, board, note, placed: watch.placed })
    const backAt = Date.now() + awayMs
    await Promise.all([placed, tell({ crew, watch, server, board, note, sayAtEnd, addFigure, backAt })])
    await crew.stop()
    return watch.succeeded
  } finally {
    await crew.kill()
    await store.end()
    stopTidying()
  }
}

async function tell({ crew, watch, server, board, note, sayAtEnd, addFigure, backAt }) {
  await watch.until(() => Date.now() >= backAt)
  await server.configure(laterFaults)
  note('the shop is back, and fails one request in three', 'dim')
  const [least, most] = [board.calls.length / 4, board.calls.length / 2]
  await watch.until(({ done, flying }) => done >= most || (done >= least && flying >= concurrency - 1))
  const killedAt = now()
  await crew.workers[0].kill()
  note(`✗ killed: SIGKILL to one of the two workers, with ${watch.done} of ${board.calls.length} orders done`, 'red')
  await watch.until(({ repeated }) => repeated.every(([, next]) => next))
  const found = watch.repeated.length
  if (found > 0) note(`✓ the other one has sent again what that one had in flight: ${orders(found)}`, 'green')
  await watch.until(({ isOver }) => isOver)
  const { repeated } = watch
  const after = seconds(Math.max(0, ...repeated.map(([, next]) => next.startedAt - killedAt)))
  addFigure('requests for an order, most', Math.max(...watch.visits.map(({ attempt }) => attempt)), '')
  addFigure('requests more for the kill', repeated.length, '')
  const cost =
    repeated.length > 0
      ? `What it had in flight, ${orders(repeated.length)}, the other one sent again within ${after} s: leases are ${seconds(leaseMs)} s here, 30 s as a rule. The shop knew the keys.`
      : 'It had nothing in flight, so that this cost nothing.'
  sayAtEnd(
    `The service took ${board.calls.length} orders by HTTP, and two workers sent them. One was killed on the way. ${cost}`,
  )
}

/** The processes on one store. */
class Crew {
  #store

  constructor(store) {
    this.#store = store
    this.api = this.#start('api')
    this.workers = [this.#start('worker'), this.#start('worker')]
  }

  ready() {
    return Promise.all(this.#all.map((process) => process.ready))
  }

  stop() {
    return Promise.all(this.#all.map((process) => process.stop()))
  }

  kill() {
    return Promise.all(this.#all.map((process) => process.kill()))
  }

  get #all() {
    return [this.api, ...this.workers]
  }

  #start(role) {
    const limits = ['--concurrency', `${concurrency}`, '--lease', `${leaseMs}ms`]
    return new Serving('--store', this.#store, '--name', 'orders', '--role', role, ...limits)
  }
}

/** The service answers 201 when an order is on the disk. Each order has a key: asked for twice, it is one task. */
async function placeAll(api, { server, board, note, placed }) {
  await api.call('POST', '/retry-policies', policy)
  const all = board.calls.map(async ({ intent }, at) => {
    const task = taskOf(server.url, intent)
    if (at === 0) note(curlLine(`${api.url}/retry-tasks`, task), 'dim')
    await pause(at * betweenOrdersMs)
    await api.call('POST', '/retry-tasks', task)
    board.sent(intent)
    placed.add(intent)
  })
  await Promise.all(all)
}

function taskOf(shop, intent) {
  const [targetUrl, { method, body }] = order(shop, intent, 'enqueue')
  return { targetUrl, method, json: JSON.parse(body), idempotencyKey: intent, policyId: policy.policyId }
}

const url = 'http://127.0.0.1:7733'
const itself = { targetUrl: `${url}/healthz`, method: 'GET' }
const away = { targetUrl: 'http://127.0.0.1:9/orders', json: { pieces: 3 }, idempotencyKey: 'order-1' }

/** What to type next. */
export const linesToTry = [
  'By hand (in this clone, `node pkg-service/cli.js` stands for `npx @redrive/service`):',
  '',
  '  npx @redrive/service serve --ui              # keeps its tasks in ./redrive.db; all else in another terminal',
  `  ${curlLine(`${url}/retry-tasks`, itself)}`,
  `  ${curlLine(`${url}/retry-tasks`, away)}`,
  '  npx @redrive/service task list               # the first has succeeded, the second waits for its next attempt',
  `  ${url}/ui            # the same in a browser`,
  '  npx @redrive/service plan --preset svix      # the waits of a policy, before it is used',
]

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const now = () => performance.timeOrigin + performance.now()
const seconds = (ms) => (ms / 1_000).toFixed(1)
const orders = (count) => `${count} ${count === 1 ? 'order' : 'orders'}`
