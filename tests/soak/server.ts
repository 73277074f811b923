/** The server of a soak: it does a task's work or fails the attempt, and notes how late each came. It keeps no more than what is open. */

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { chance } from '../faults/options.ts'
import { RETRY_MS } from './options.ts'

/** An answer takes so long, at least and at most. */
const LEAST_MS = 5
const MOST_MS = 45

/** A task as its request says it. */
export interface Asked {
  readonly n: number
  /** When `enqueue` was called. */
  readonly at: number
}

export interface Heard {
  /** Milliseconds from `enqueue` to the first attempt, of each that began. */
  readonly begun: number[]
  /** Milliseconds by which each other attempt came after it was due. */
  readonly late: number[]
  done: number
}

export interface SoakServer {
  readonly url: string
  readonly done: number
  /** Tasks whose work was done more than once. */
  readonly twice: number
  /** Retries that came before they were due. */
  readonly early: number
  /** What was heard since this was asked last. */
  take(): Heard
  close(): void
}

export async function startServer(failing: number, seed: number): Promise<SoakServer> {
  const random = chance(seed)
  /** When the next attempt of each task that has failed is due, at the earliest. */
  const dueAt = new Map<number, number>()
  const finished = new Set<number>()
  let heard: Heard = { begun: [], late: [], done: 0 }
  let [done, twice, early] = [0, 0, 0]
  const server = createServer(async (request, response) => {
    const cameAt = Date.now()
    const { n, at } = (await json(request)) as Asked
    const due = dueAt.get(n)
    if (due === undefined) heard.begun.push(cameAt - at)
    else heard.late.push(cameAt - due)
    // both read one clock, each by whole milliseconds
    if (due !== undefined && cameAt < due - 1) early++
    const fails = random() * 100 < failing
    setTimeout(
      () => {
        if (fails) dueAt.set(n, Date.now() + RETRY_MS)
        else {
          if (finished.has(n)) twice++
          finished.add(n)
          dueAt.delete(n)
          heard.done++
          done++
        }
        response.writeHead(fails ? 503 : 200).end()
      },
      LEAST_MS + random() * (MOST_MS - LEAST_MS),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    get done() {
      return done
    },
    get twice() {
      return twice
    },
    get early() {
      return early
    },
    take() {
      const taken = heard
      heard = { begun: [], late: [], done: 0 }
      return taken
    },
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
