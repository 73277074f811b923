// What callers see in ordinary bad luck, with axios-retry and with `redrive/compat/axios-retry`: a server that is away for 5 s, one that
// fails at random, one that hangs. Real time, a real server; the table of docs/compat-axios-retry.md is what this prints:
//
//   node tests/js/compat/axios-retry/bad-luck.mjs
import { createServer } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import axios from 'axios'
import axiosRetry from 'axios-retry'
import facade from '../../../../js/compat-axios-retry.ts'
import { RetryQueue } from '../../../../js/index.ts'

const quiet = { warn: false }
const subjects = [
  ['axios-retry', axiosRetry, () => ({})],
  ['here, without a queue', facade, () => ({ queue: undefined })],
  ['with `new RetryQueue()`', facade, () => ({ queue: new RetryQueue(quiet) })],
  ["with `whenOpen: 'fail'`", facade, () => ({ queue: new RetryQueue({ ...quiet, breaker: { whenOpen: 'fail' } }) })],
]

const scenarios = [
  { what: '20 calls a second for 10 s, away from second 1 to 6', calls: 200, everyMs: 50, away: [1_000, 6_000] },
  { what: '3 of 10 answers are 503', calls: 300, everyMs: 10, status: (hit) => (hit % 10 < 3 ? 503 : 200) },
  { what: 'hangs, `timeout: 500`', calls: 20, everyMs: 50, status: () => 0, timeout: 500 },
]

/** A server that can leave its port, and come back to it. */
async function serve(status = () => 200) {
  let hits = 0
  const server = createServer((_, response) => {
    const code = status(hits++)
    if (code > 0) response.writeHead(code).end()
  })
  const listen = (port) => new Promise((resolve) => server.listen(port, '127.0.0.1', resolve))
  await listen(0)
  const { port } = server.address()
  const close = () => {
    server.close()
    server.closeAllConnections()
  }
  return { url: `http://127.0.0.1:${port}`, hits: () => hits, close, open: () => listen(port) }
}

/** [answered well, longest wait of a call in ms, requests] */
async function run([, attach, optionsOf], { calls, everyMs, away, status, timeout = 0 }) {
  const server = await serve(status)
  const { queue, ...options } = { retryDelay: axiosRetry.exponentialDelay, ...optionsOf() }
  const api = axios.create({ baseURL: server.url, timeout })
  attach(api, queue ? { ...options, queue } : options)
  // what is loaded once is not measured
  await queue?.ready
  let good = 0
  let longest = 0
  const call = async () => {
    const began = performance.now()
    await api.get('/').then(
      () => good++,
      () => {},
    )
    longest = Math.max(longest, performance.now() - began)
  }
  if (away) {
    const [from, to] = away
    wait(from).then(server.close)
    wait(to).then(server.open)
  }
  const all = []
  for (let i = 0; i < calls; i++) {
    all.push(call())
    await wait(everyMs)
  }
  await Promise.all(all)
  server.close()
  await queue?.close()
  return [`${good} of ${calls}`, `${(longest / 1_000).toFixed(1)} s`, server.hits()].join(', ')
}

console.log(`| calls answered, longest wait, requests that arrived | ${subjects.map(([name]) => name).join(' | ')} |`)
console.log(`|---|${subjects.map(() => '---').join('|')}|`)
for (const scenario of scenarios) {
  const cells = []
  for (const subject of subjects) cells.push(await run(subject, scenario))
  console.log(`| ${scenario.what} | ${cells.join(' | ')} |`)
}
