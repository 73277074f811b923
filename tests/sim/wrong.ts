/** Stores that are wrong on purpose, each in one way: what the checks are there to notice. */

import type { ClaimedTask, Settlement, Step, TaskStore } from '../../js/api/store.ts'
import type { Breaking } from './world.ts'

const HOUR_MS = 3_600_000

/** The store, but for some of its methods. */
export function but(store: TaskStore, changed: Partial<TaskStore>): TaskStore {
  return new Proxy(store, {
    get(_, name) {
      const value: unknown = Reflect.get(name in changed ? changed : store, name)
      return typeof value === 'function' ? value.bind(store) : value
    },
  })
}

export const store = (change: (store: TaskStore) => Partial<TaskStore>): Breaking => ({
  store: (whole) => but(whole, change(whole)),
})

/** Does other turns than it was asked for, and says it did those. */
const turning = (change: (step: Step) => Step): Breaking =>
  store((whole) => ({ turn: (step) => whole.turn(change(step)) }))

type Claim = NonNullable<Step['claim']>

export const claiming = (change: (claim: Claim) => Partial<Claim>): Breaking =>
  turning((step) => ({ ...step, claim: step.claim && { ...step.claim, ...change(step.claim) } }))

const settling = (change: (settlement: Settlement) => Settlement): Breaking =>
  turning((step) => ({ ...step, settle: step.settle.map(change) }))

/** What is to be tried again; the rest is settled as it is. */
const retrying = (change: (next: Settlement['next'] & { kind: 'retry' }) => Settlement['next']): Breaking =>
  settling((settlement) => {
    const { next } = settlement
    return next.kind === 'retry' ? { ...settlement, next: change(next) } : settlement
  })

/** Does the turn that it was asked for, and gives out something else. */
export const giving = (change: (claimed: ClaimedTask) => ClaimedTask): Breaking =>
  store((whole) => ({
    turn: async (step) => {
      const turn = await whole.turn(step)
      return { ...turn, claimed: turn.claimed.map(change) }
    },
  }))

type Enqueue = TaskStore['enqueue']
type Tasks = Parameters<Enqueue>[0]

const enqueuing = (change: (task: Tasks[number]) => Tasks[number]): Breaking =>
  store((whole) => ({ enqueue: (tasks, lease) => whole.enqueue(tasks.map(change), lease) }))

export const enqueued = (then: (store: TaskStore, ...given: Parameters<Enqueue>) => ReturnType<Enqueue>): Breaking =>
  store((whole) => ({ enqueue: (...given) => then(whole, ...given) }))

export interface Wrong {
  readonly what: string
  /** What should notice it; others may as well. */
  readonly breaks: string
  /** Where it shows. @default true */
  readonly hints?: boolean
  readonly breaking: Breaking
}

export const WRONG: readonly Wrong[] = [
  { what: 'leases end at once', breaks: 'L1', breaking: claiming(() => ({ leaseMs: 1 })) },
  {
    what: 'leases are said to be longer than they are',
    breaks: 'S3',
    breaking: store((whole) => ({
      turn: async (step) => {
        const turn = await whole.turn({ ...step, claim: step.claim && { ...step.claim, leaseMs: 2_000 }, renew: [] })
        const renewed = step.renew.map(() => 'renewed' as const)
        const claimed = turn.claimed.map(({ task, lease }) => ({ task, lease: { ...lease, forMs: 30_000 } }))
        return { ...turn, renewed, claimed }
      },
    })),
  },
  {
    what: 'what was stored is forgotten',
    breaks: 'S2',
    breaking: enqueued(async (whole, tasks, lease) => {
      const answers = await whole.enqueue(tasks, lease)
      for (const { taskId } of tasks) if (/[0-3]$/.test(taskId)) await whole.purge({ taskId })
      return answers
    }),
  },
  {
    what: 'principals are ignored',
    breaks: 'S16',
    breaking: claiming(({ principal }) => ({ principal: principal === 'ann' ? 'ben' : 'ann' })),
  },
  { what: 'limits are ignored', breaks: 'S7', breaking: claiming(() => ({ total: 99, perLane: 99 })) },
  { what: 'waits are ignored', breaks: 'S9', breaking: retrying((next) => ({ ...next, delayMs: 0 })) },
  { what: 'holds are ignored', breaks: 'S9', breaking: settling(({ holdLaneForMs: _, ...rest }) => rest) },
  { what: 'orders are ignored', breaks: 'S19', breaking: enqueuing(({ orderKey: _, ...rest }) => rest) },
  {
    what: 'keys are left out of what is claimed',
    breaks: 'S5',
    breaking: giving(({ task, lease }) => ({ task: { ...task, idempotencyKey: null }, lease })),
  },
  {
    what: 'tokens do not rise',
    breaks: 'S4',
    breaking: giving(({ task, lease }) => ({ task, lease: { ...lease, token: 1 } })),
  },
  {
    what: 'attempts are given back whatever they were',
    breaks: 'S8',
    breaking: retrying((next) => ({ ...next, kind: 'release', refund: true })),
  },
  {
    what: 'a cancel is not done',
    breaks: 'S14',
    breaking: store((whole) => ({
      cancel: async (taskId) => {
        const task = await whole.get(taskId)
        if (task?.status === 'PENDING') return 'cancelled'
        return task?.status === 'IN_FLIGHT' ? 'requested' : 'gone'
      },
    })),
  },
  { what: 'leases never end', breaks: 'L1', breaking: claiming(() => ({ leaseMs: 100 * HOUR_MS })) },
  {
    what: 'the same request is stored twice, under two keys',
    breaks: 'S5',
    breaking: enqueuing((task) => ({ ...task, idempotencyKey: `${task.idempotencyKey} ${task.taskId}` })),
  },
  {
    what: 'a dead letter that goes back is not there any more',
    breaks: 'S13',
    breaking: store(() => ({ redrive: async (taskIds) => taskIds.map(() => 'redriven' as const) })),
  },
  {
    what: 'what is new waits for an hour',
    breaks: 'L4',
    breaking: enqueuing((task) => ({ ...task, dueInMs: task.dueInMs + HOUR_MS })),
  },
  {
    what: 'the clock of a process goes too slowly',
    breaks: 'S3',
    breaking: { clock: (clock) => ({ ...clock, now: () => clock.now() / 8, monotonic: () => clock.monotonic() / 8 }) },
  },
  {
    what: 'what did not load is not asked for again',
    breaks: 'L1',
    breaking: {
      clock: (clock) => ({
        ...clock,
        after: (delayMs, wake, isIdle) => (isIdle ? () => {} : clock.after(delayMs, wake)),
      }),
    },
  },
  {
    what: 'each attempt has a key of its own',
    breaks: 'S5',
    breaking: {
      fetch: (send) => {
        let sent = 0
        return (input, init) => {
          const headers = new Headers(init?.headers)
          if (headers.has('idempotency-key')) headers.set('idempotency-key', `attempt ${++sent}`)
          return send(input, { ...init, headers })
        }
      },
    },
  },
  {
    what: 'answers go to somebody else',
    breaks: 'S22',
    breaking: {
      fetch: (send) => {
        let last: Response | undefined
        return async (input, init) => {
          const response = await send(input, init)
          const given = last && response.ok ? last : response
          last = response
          return given
        }
      },
    },
  },
]
