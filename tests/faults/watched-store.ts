/**
 * The store of a process under test: real, with leases short enough for a run of a minute, and each of them written down. It can be
 * told to end its process at the worst of moments: when the file has been written and nobody knows yet. With `no-lease` it
 * is wrong on purpose: it says the same and lets go of a task at once. With leases of its own length it changes nothing.
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

export interface Watching {
  /** Where it writes. */
  readonly file: string
  readonly breaks: Break | undefined
  /** Leases last as long as the queue asks. */
  readonly ownLeases: boolean
}

export function watchedStore(store: TaskStore, { file, breaks, ownLeases }: Watching): Watched {
  const givenMs = breaks === 'no-lease' ? 1 : LEASE_MS
  const short = <T extends object>(given: T, changed: Partial<T>): T => (ownLeases ? given : { ...given, ...changed })
  const tokens = new Map<string, number>()
  const write = (lines: readonly Line[]) => {
    if (lines.length > 0) appendFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  }

  let aimedAt: Moment | undefined
  const reached = (moment: Moment) => {
    if (moment !== aimedAt) return
    write([{ what: 'dying', at: Date.now() }])
    process.kill(process.pid, 'SIGKILL')
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
        delayMs: 'delayMs' in next ? next.delayMs : undefined,
        refund: next.kind === 'release' && next.refund,
      })),
    )
    const done = await store.turn({
      ...step,
      renew: step.renew.map((lease) => short(lease, { forMs: givenMs })),
      claim: step.claim && short(step.claim, { leaseMs: givenMs }),
    })
    if (done.settled.length > 0) reached('settled')
    if (done.claimed.length > 0) reached('claimed')
    const untilOf = ({ forMs }: Lease) => done.now + (ownLeases ? forMs : LEASE_MS)
    write([
      ...step.settle.map(
        ({ lease: { token } }, i): Line => ({ what: 'settled', token, answer: done.settled[i] ?? '', at: done.now }),
      ),
      ...step.renew.flatMap((lease, i): Line[] =>
        done.renewed[i] === 'lost' ? [] : [{ what: 'renewed', token: lease.token, until: untilOf(lease) }],
      ),
      ...done.claimed.map(({ task: { taskId, targetUrl }, lease }): Line => {
        const { origin } = new URL(targetUrl)
        return { what: 'claimed', taskId, token: lease.token, at: done.now, until: untilOf(lease), lane: origin }
      }),
    ])
    for (const { task, lease } of done.claimed) if (task.idempotencyKey) tokens.set(task.idempotencyKey, lease.token)
    return {
      ...done,
      claimed: done.claimed.map(({ task, lease }) => ({ task, lease: short(lease, { forMs: LEASE_MS }) })),
    }
  }
  return {
    store: Object.defineProperties({} as TaskStore, {
      // what it promises may become known later
      ...Object.getOwnPropertyDescriptors(store),
      enqueue: { value: enqueue },
      turn: { value: turn },
    }),
    aim(moment) {
      aimedAt = moment
    },
    tokenOf: (key) => tokens.get(key),
  }
}
