/**
 * The store of a process under test: real, with leases short enough for a run of a minute, and each of them written down. With
 * `no-lease` it is wrong on purpose: it says the same and lets go of a task at once.
 */

import { appendFileSync } from 'node:fs'
import type { Lease, Step, TaskStore, Turn } from '../../js/stores/store.ts'
import type { Line } from './log.ts'
import { type Break, LEASE_MS } from './options.ts'

export interface Watched {
  readonly store: TaskStore
  /** The lease under which a request with this key goes out. */
  tokenOf(key: string): number | undefined
}

export function watchedStore(store: TaskStore, file: string, breaks: Break | undefined): Watched {
  const givenMs = breaks === 'no-lease' ? 1 : LEASE_MS
  const tokens = new Map<string, number>()
  const write = (lines: readonly Line[]) => {
    if (lines.length > 0) appendFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  }

  async function turn(step: Step): Promise<Turn> {
    const at = Date.now()
    write(step.settle.map(({ lease: { token } }) => ({ what: 'settling', token, at })))
    const done = await store.turn({
      ...step,
      renew: step.renew.map((lease) => ({ ...lease, forMs: givenMs })),
      claim: step.claim && { ...step.claim, leaseMs: givenMs },
    })
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
  return { store: { ...store, turn }, tokenOf: (key) => tokens.get(key) }
}

const told = (lease: Lease): Lease => ({ ...lease, forMs: LEASE_MS })
