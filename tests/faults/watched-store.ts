/**
 * The store of a process under test: real, with leases short enough for a run of a minute, and each of them written down. It can be
 * told to end its process at the worst of moments: when the file has been written and nobody knows yet. With `no-lease` it
 * is wrong on purpose: it says the same and lets go of a task at once.
 */

import { appendFileSync } from 'node:fs'
import type { Lease, Step, TaskStore, Turn } from '../../js/api/store.ts'
import type { Line } from './log.ts'
import { type Break, LEASE_MS } from './options.ts'

/** The worst moments: after a task, a lease, or the end of an attempt was written. */
export const MOMENTS = ['enqueued', 'claimed', 'settled'] as const
export type Moment = (typeof MOMENTS)[number]

export interface Watched {
  readonly store: TaskStore
  /** The next time it comes to that, the process is killed. */
  aim(moment: Moment): void
  /** The lease under which a request with this key goes out. */
  tokenOf(key: string): number | undefined
}

export function watchedStore(store: TaskStore, file: string, breaks: Break | undefined): Watched {
  const givenMs = breaks === 'no-lease' ? 1 : LEASE_MS
  const tokens = new Map<string, number>()
  const write = (lines: readonly Line[]) => {
    if (lines.length > 0) appendFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  }

  let aimedAt: Moment | undefined
  const reached = (moment: Moment) => {
    if (moment === aimedAt) process.kill(process.pid, 'SIGKILL')
  }

  async function enqueue(...given: Parameters<TaskStore['enqueue']>): ReturnType<TaskStore['enqueue']> {
    const enqueued = await store.enqueue(...given)
    reached('enqueued')
    return enqueued
  }

  async function turn(step: Step): Promise<Turn> {
    const at = Date.now()
    write(
      step.settle.map(({ lease: { token }, next }) => ({
        what: 'settling',
        token,
        at,
        success: next.kind === 'succeeded',
      })),
    )
    const done = await store.turn({
      ...step,
      renew: step.renew.map((lease) => ({ ...lease, forMs: givenMs })),
      claim: step.claim && { ...step.claim, leaseMs: givenMs },
    })
    if (done.settled.length > 0) reached('settled')
    if (done.claimed.length > 0) reached('claimed')
    const until = done.now + LEASE_MS
    write([
      ...step.settle.map(
        ({ lease }, i): Line => ({ what: 'settled', token: lease.token, answer: done.settled[i] ?? '' }),
      ),
      ...step.renew.flatMap(({ token }, i): Line[] =>
        done.renewed[i] === 'lost' ? [] : [{ what: 'renewed', token, until }],
      ),
      ...done.claimed.map(
        ({ task: { taskId }, lease: { token } }): Line => ({ what: 'claimed', taskId, token, at: done.now, until }),
      ),
    ])
    for (const { task, lease } of done.claimed) if (task.idempotencyKey) tokens.set(task.idempotencyKey, lease.token)
    return { ...done, claimed: done.claimed.map(({ task, lease }) => ({ task, lease: told(lease) })) }
  }
  return {
    store: { ...store, enqueue, turn },
    aim(moment) {
      aimedAt = moment
    },
    tokenOf: (key) => tokens.get(key),
  }
}

const told = (lease: Lease): Lease => ({ ...lease, forMs: LEASE_MS })
