/**
 * Awaited calls to a real server that fails at random, with the default gates or without any. Whether the n-th attempt of a call fails is
 * drawn of seed, call and n alone, so both worlds meet the same failures, and what differs is what the gates do.
 */

import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { RetryQueue, type RetryQueueOptions } from '../../../js/index.ts'
import { quantile } from '../takeover.ts'

export interface Row {
  /** How many answers of a thousand are a 503. */
  readonly perMille: number
  readonly seed: number
  readonly calls: number
  /** Callers at a time, each of which waits for its answer before it calls again. */
  readonly callers: number
  readonly gated: boolean
  readonly policy?: RetryQueueOptions['policy']
  /** Of the queue with gates. @default the package's */
  readonly breaker?: RetryQueueOptions['breaker']
}

export interface Outcome {
  /** Callers who got no success. */
  readonly failed: number
  /** Of each call, to its answer or error. */
  readonly tookMs: readonly number[]
  readonly requests: number
  /** How often a circuit opened. */
  readonly openings: number
}

const NO_GATES = { breaker: false, retryBudget: false } as const

export async function run(row: Row): Promise<Outcome> {
  const server = await failing(row)
  const { policy, breaker } = row
  const queue = new RetryQueue({
    ...(row.gated ? (breaker === undefined ? {} : { breaker }) : NO_GATES),
    ...(policy ? { policy } : {}),
    seed: BigInt(row.seed),
  })
  let openings = 0
  queue.on('circuit', ({ to }) => {
    if (to === 'OPEN') openings++
  })
  // calls that fail are what is looked for
  queue.on('alert', () => {})
  const tookMs: number[] = []
  let failed = 0
  let next = 0
  const call = async (intent: number): Promise<boolean> => {
    const init = { method: 'POST', headers: { 'x-intent': String(intent) }, body: 'tea' }
    const response = await queue.fetch(server.url, init)
    await response.arrayBuffer()
    return response.ok
  }
  const caller = async () => {
    while (next < row.calls) {
      const intent = next++
      const startedAt = performance.now()
      const isOk = await call(intent).catch(() => false)
      tookMs.push(performance.now() - startedAt)
      if (!isOk) failed++
    }
  }
  try {
    await Promise.all(Array.from({ length: row.callers }, caller))
    return { failed, tookMs, requests: server.requests(), openings }
  } finally {
    await queue.close({ drainMs: 0 })
    await server.close()
  }
}

/** The time that so many of a hundred took at most. */
export function percentile(tookMs: readonly number[], percent: number): number {
  return quantile(
    [...tookMs].sort((a, b) => a - b),
    percent / 100,
  )
}

async function failing({ perMille, seed }: Row) {
  const attempts = new Map<string, number>()
  let requests = 0
  const server = createServer((request, response) => {
    requests++
    const intent = String(request.headers['x-intent'])
    const attempt = (attempts.get(intent) ?? 0) + 1
    attempts.set(intent, attempt)
    request.resume().on('end', () => {
      const draw = createHash('sha256').update(`${seed} ${intent} ${attempt}`).digest().readUInt32BE() % 1_000
      response.writeHead(draw < perMille ? 503 : 200).end('{}')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/orders`,
    requests: () => requests,
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
