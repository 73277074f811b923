// What wrapping costs a call that needs no retry. The transport answers at once, so all that is left is overhead.
import axios from 'axios'
import axiosRetry from 'axios-retry'
import ky from 'ky'
import { eachMicros, takeTurns } from './lib/measure.mjs'
import { RetryQueue, wrapFetch } from './lib/package.mjs'
import { orLess } from './lib/smoke.mjs'
import { aim, figure, note, table } from './lib/table.mjs'

const CALLS = orLess(2_000, 10)
const ROUNDS = 15
const URL = 'https://api.example.test/orders/17?expand=lines'

const stub = async () => new Response(null, { status: 200 })

const queue = new RetryQueue({ fetch: stub })
const wrapped = wrapFetch(queue)
const kyClient = ky.create({ fetch: stub })

const axiosStub = async (config) => ({ data: await stub(), status: 200, statusText: 'OK', headers: {}, config })
const axiosPlain = axios.create({ adapter: axiosStub })
const axiosRetrying = axios.create({ adapter: axiosStub })
axiosRetry(axiosRetrying, { retries: 4 })

const signal = new AbortController().signal
const post = () => ({ method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"sku":17,"count":2}' })

const medians = await takeTurns(
  {
    'bare fetch': () => eachMicros(CALLS, () => stub(URL)),
    'wrapFetch, GET': () => eachMicros(CALLS, () => wrapped(URL)),
    "wrapFetch, GET with the caller's signal": () => eachMicros(CALLS, () => wrapped(URL, { signal })),
    'wrapFetch, POST of JSON, gets a key': () => eachMicros(CALLS, () => wrapped(URL, post())),
    'ky, GET': () => eachMicros(CALLS, () => kyClient(URL)),
    'axios, GET': () => eachMicros(CALLS, () => axiosPlain.get(URL)),
    'axios + axios-retry, GET': () => eachMicros(CALLS, () => axiosRetrying.get(URL)),
  },
  { rounds: ROUNDS, warmUp: 3 },
)

const bare = medians['bare fetch']
table(
  ['', 'us per call', 'more than bare'],
  Object.entries(medians).map(([name, us]) => [name, figure(us), name === 'bare fetch' ? '' : figure(us - bare)]),
)
console.log()
const more = medians['wrapFetch, GET'] - bare
aim('wrapFetch under 10 us more than bare', more < 10, `${figure(more)} us`)
note(`${CALLS} calls a round, ${ROUNDS} rounds, medians. The stub makes a new Response per call, in every row.`)
await queue.close()
