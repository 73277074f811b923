// One contestant in one outage: a server process and a client process.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const here = (name) => fileURLToPath(new URL(name, import.meta.url))
const AWAY_FROM_MS = 500

/** `kind`: 'closed', '503', 'hang' or 'slow': then each answer takes so many seconds, for good. */
export async function run({ name, kind, awayS, arrival, calls }) {
  const server = fork(here('server.mjs'), { execArgv: [] })
  const [{ port }] = await once(server, 'message')
  const ask = async (order) => {
    server.send({ order, port, ms: awayS * 1_000 })
    const [answer] = await once(server, 'message')
    return answer
  }
  const [away, back] = {
    closed: [() => ask('close'), () => ask('listen')],
    503: [() => ask('refuse'), () => ask('answer')],
    hang: [() => server.kill('SIGSTOP'), () => server.kill('SIGCONT')],
    slow: [() => ask('slow'), () => {}],
  }[kind]
  const given = {
    name,
    calls,
    arrival,
    url: `http://127.0.0.1:${port}/`,
    awayFromMs: AWAY_FROM_MS,
    awayMs: awayS * 1_000,
  }
  const client = fork(here('client.mjs'), [JSON.stringify(given)], { execArgv: ['--no-warnings'] })
  const gone = once(client, 'exit')
  try {
    const next = async () => {
      const [message] = await Promise.race([
        once(client, 'message'),
        gone.then(([code]) => Promise.reject(new Error(`${name} ended with ${code}`))),
      ])
      return message
    }
    await next()
    await sleep(AWAY_FROM_MS)
    await away()
    const ended = next()
    await sleep(awayS * 1_000)
    await back()
    const { connections, ...result } = await ended
    const { requests, refused } = await ask('count')
    // what was sent to one that was stopped or slow is more than one request a call
    const inVain = { closed: connections, 503: refused }[kind] ?? Math.max(0, requests - 1 - calls)
    const tail = kind === 'slow' ? Number.NaN : result.tail
    return { ...result, tail, requests: requests - 1, inVain }
  } finally {
    client.kill()
    server.kill('SIGCONT')
    server.kill()
    await gone
  }
}
