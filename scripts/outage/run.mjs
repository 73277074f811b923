// The run itself: a server and its clients, each a process; an outage in the middle; a sample four times a second.
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { StepError } from '../lib/steps.mjs'

const SAMPLE_MS = 250
/** Drained: hardly a task is held, for a second. What fails and succeeds at once all the time is no backlog. */
const DRAINED = { depth: 3, samples: 4 }
/** Four a second: what has just been started is slow at first. */
const WARM_STANDINGS = 12

/** @param {import('./run.d.mts').OutageOptions} options */
export async function outage(options) {
  const { clients, slots, serviceMs, load, beforeS, downS, afterS, limitS } = options
  const capacity = (slots * 1_000) / serviceMs
  const server = processOf('server.mjs', { slots, serviceMs })
  const crew = []
  const latest = new Map()
  const circuits = []
  let startedAt = performance.now()
  const second = () => (performance.now() - startedAt) / 1_000
  try {
    const { url } = await server.next('up')
    for (let i = 0; i < clients; i++) {
      const client = processOf('client.mjs', { url, name: `client ${i + 1}`, perSecond: (capacity * load) / clients })
      client.on('standing', (standing) => latest.set(standing.name, standing))
      client.on('circuit', ({ to }) => circuits.push({ at: second(), client: i, to }))
      crew.push(client)
    }
    for (let i = 0; i < WARM_STANDINGS; i++) await Promise.all(crew.map((client) => client.next('standing')))

    startedAt = performance.now()
    const samples = []
    const sample = async () => {
      if (second() - (samples.at(-1)?.at ?? -1) < SAMPLE_MS / 2_000) return
      server.child.send('count')
      const { seen, succeeded } = await server.next('count')
      const sum = (key) => [...latest.values()].reduce((total, client) => total + client[key], 0)
      samples.push({ at: second(), seen, succeeded, depth: sum('depth'), attempts: sum('attempts') })
    }
    const until = async (enough) => {
      while (!enough()) {
        await sample()
        await new Promise((resolve) => setTimeout(resolve, SAMPLE_MS - ((second() * 1_000) % SAMPLE_MS)))
      }
    }

    await until(() => second() >= beforeS)
    const downAt = second()
    server.child.send('down')
    await server.next('down')
    await until(() => second() >= downAt + downS)
    server.child.send('up')
    await server.next('up')
    const upAt = second()
    const drained = () => {
      const last = samples.slice(-DRAINED.samples)
      return last.length === DRAINED.samples && last.every(({ at, depth }) => at > upAt && depth <= DRAINED.depth)
    }
    await until(() => drained() || second() > upAt + limitS)
    const drainedAt = drained() ? (samples.at(-DRAINED.samples)?.at ?? null) : null
    const endAt = second() + afterS
    await until(() => second() >= endAt)

    const ends = crew.map((client) => client.next('end'))
    for (const { child } of crew) child.send('stop')
    const told = await Promise.all(ends)
    server.child.send('ledger')
    const ledger = await server.next('ledger')
    return { options, capacity, samples, circuits, downAt, upAt, drainedAt, summary: summaryOf(told, ledger, samples) }
  } finally {
    for (const { child } of [...crew, server]) child.kill('SIGKILL')
  }
}

function summaryOf(told, { effects, repeated }, samples) {
  const sum = (key) => told.reduce((total, client) => total + client[key], 0)
  const [calls, attempts] = [sum('calls'), sum('attempts')]
  return {
    calls,
    attempts,
    amplification: attempts / calls,
    effects,
    repeated,
    lost: calls - effects,
    deadLetters: sum('deadLetters'),
    deepest: samples.reduce((most, { depth }) => Math.max(most, depth), 0),
  }
}

/** A script of this folder as a process that speaks in messages. */
function processOf(script, options) {
  const path = fileURLToPath(new URL(script, import.meta.url))
  const child = fork(path, [JSON.stringify(options)], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const waiting = new Map()
  const listeners = new Map()
  let gone
  child.on('message', (message) => {
    listeners.get(message.kind)?.(message)
    const [first] = waiting.get(message.kind)?.splice(0, 1) ?? []
    first?.resolve(message)
  })
  child.once('exit', (code, signal) => {
    gone = new StepError(`${script} ended with ${signal ?? `code ${code}`}`)
    for (const { reject } of [...waiting.values()].flat()) reject(gone)
  })
  return {
    child,
    on: (kind, listener) => void listeners.set(kind, listener),
    /** The next message of a kind. */
    next: (kind) =>
      new Promise((resolve, reject) => {
        if (gone) return reject(gone)
        waiting.set(kind, [...(waiting.get(kind) ?? []), { resolve, reject }])
      }),
  }
}
