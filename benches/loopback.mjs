// A real server that fails every first attempt. Nobody waits between attempts: what differs is what each library does.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import axios from 'axios'
import axiosRetry from 'axios-retry'
import ky from 'ky'
import { Agent, RetryAgent, fetch as undiciFetch } from 'undici'
import { eachMicros, takeTurns } from './lib/measure.mjs'
import { RetryQueue, wrapFetch } from './lib/package.mjs'
import { orLess } from './lib/smoke.mjs'
import { aim, figure, note, table } from './lib/table.mjs'

const CALLS = orLess(200, 2)
const ROUNDS = 25

const server = fork(new URL('loopback-server.mjs', import.meta.url), { execArgv: [] })
const [port] = await once(server, 'message')
let serial = 0
const nextUrl = () => `http://127.0.0.1:${port}/orders/${serial++}`

const zeroDelay = { initialDelayMs: 0, jitterType: 'NONE' }
const queue = new RetryQueue({ policy: zeroDelay, breaker: false, retryBudget: false })
await queue.ready
const wrapped = wrapFetch(queue)

const agent = new Agent()
// its own policy always goes through a timer of at least 1 ms
const atOnce = (error, { state }, done) => (state.counter > 4 ? done(error) : done(null))
const retryAgent = new RetryAgent(agent, { retry: atOnce, statusCodes: [503] })
const kyClient = ky.create({ retry: { limit: 4, statusCodes: [503], delay: () => 0 } })
const axiosClient = axios.create()
axiosRetry(axiosClient, { retries: 4, retryDelay: () => 0 })

const expectOk = (text) => {
  if (text !== '{"ok":true}') throw new Error(`expected the second answer, got ${text}`)
}

async function twice(send) {
  const url = nextUrl()
  const first = await send(url)
  await first.text()
  expectOk(await (await send(url)).text())
}

const each = (call) => () => eachMicros(CALLS, call)
const medians = await takeTurns(
  {
    'two plain fetches': each(() => twice((url) => fetch(url))),
    wrapFetch: each(async () => expectOk(await (await wrapped(nextUrl())).text())),
    "two plain fetches, undici's own": each(() => twice((url) => undiciFetch(url, { dispatcher: agent }))),
    'undici RetryAgent': each(async () => {
      expectOk(await (await undiciFetch(nextUrl(), { dispatcher: retryAgent })).text())
    }),
    ky: each(async () => expectOk(await (await kyClient(nextUrl())).text())),
    'axios + axios-retry': each(async () => {
      expectOk((await axiosClient.get(nextUrl(), { responseType: 'text', transformResponse: (text) => text })).data)
    }),
  },
  { rounds: ROUNDS, warmUp: 4 },
)

const plain = medians['two plain fetches']
table(
  ['', 'us per task', 'of two plain fetches'],
  Object.entries(medians).map(([name, us]) => [name, figure(us), `${Math.round((us / plain) * 100)} %`]),
)
console.log()
aim(
  'wrapFetch within 5 % of two plain fetches',
  medians.wrapFetch <= plain * 1.05,
  `${figure((medians.wrapFetch / plain - 1) * 100)} %`,
)
note(`${CALLS} tasks a round one after the other, ${ROUNDS} rounds, medians.`)
note(
  'ky and axios-retry have no wait below a timer of 1 ms, which fires after .1 to 1 ms: part of their figure is that.',
)

await queue.close()
await agent.close()
server.disconnect()
