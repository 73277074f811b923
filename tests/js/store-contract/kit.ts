// What the tests of the store contract share: a store on a clock that stands still, tasks, and the words for a step.
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import {
  type Claim,
  type ClaimedTask,
  type Enqueued,
  type Lease,
  laneName,
  type NamedAt,
  type NewTask,
  type Settlement,
  type Step,
  type StoredTask,
  type StoreTerms,
  schemaOf,
  type TaskStore,
  type Turn,
} from '../../../js/api/store.ts'
import type { AttemptLog } from '../../../js/api/task.ts'
import type { Clock } from '../../../js/platform/clock.ts'
import { type FakeClock, fakeClock } from '../../../js/testing/clock.ts'
import { claimOf as claimOfAny, taskOf } from '../sqlite/words.ts'

/** Makes an empty store; terms that are not given are its own. */
export type Open = (terms: { readonly clock: Clock } & Partial<StoreTerms>) => Promise<TaskStore> | TaskStore

export const LEASE_MS = 30_000
export const ORIGIN = 'https://api.test'
export const OTHER = 'https://other.test'

export interface Wanted extends Partial<NewTask> {
  readonly origin?: string
}

/** Rises with `n`, as the ids of one maker do. */
export const idOf = (n: number): string => `00000000-0000-7000-8000-${n.toString(16).padStart(12, '0')}`

export function newTask(n: number, { origin = ORIGIN, ...given }: Wanted = {}): NewTask {
  const principal = given.principal ?? null
  return {
    ...taskOf(n),
    taskId: idOf(n),
    targetUrl: `${origin}/orders`,
    withheldHeaders: ['authorization'],
    requestInit: { credentials: 'include' },
    lane: laneName(principal, origin),
    policy: { policyId: 'default', maxAttempts: 5, totalBudgetMs: 86_400_000, keyTtlMs: 86_400_000 },
    schema: schemaOf(given),
    ...given,
  }
}

/** A declaration as of `since`. */
export const at =
  (since: number, now = since): (() => NamedAt) =>
  () => ({ since, now })

export const claimOf = (given: Partial<Claim> = {}): Claim => ({ ...claimOfAny(100), ...given })

export const logOf = (taskId: string, given: Partial<AttemptLog> = {}): AttemptLog => ({
  taskId,
  attemptNumber: 1,
  startedAt: 0,
  durationMs: 5,
  responseStatus: 503,
  errorMessage: null,
  decision: '503: next',
  ...given,
})

export const SUCCEEDED = { kind: 'succeeded' } as const
export const NOT_RETRYABLE = { kind: 'exhausted', reason: 'not_retryable' } as const
export const retryIn = (delayMs: number, rest: { serverMs?: number } = {}): Settlement['next'] => ({
  kind: 'retry',
  delayMs,
  ...rest,
})
export const releaseIn = (
  delayMs: number,
  rest: { refund?: boolean; offline?: true; park?: boolean; serverMs?: number } = {},
): Settlement['next'] => ({ kind: 'release', delayMs, refund: true, ...rest })
/** Of an attempt that never left. */
export const UNSENT: Partial<AttemptLog> = { responseStatus: null }

export const settlementOf = (
  lease: Lease,
  next: Settlement['next'],
  { log, ...rest }: { log?: Partial<AttemptLog>; holdLaneForMs?: number } = {},
): Settlement => ({ lease, next, log: logOf(lease.taskId, log), ...rest })

export interface Kit {
  readonly store: TaskStore
  readonly clock: FakeClock
  pass(ms: number): void
  /** One store-wide number each; `given` for all of them. */
  add(...given: readonly Wanted[]): Promise<readonly string[]>
  enqueue(task: NewTask, lease?: Parameters<TaskStore['enqueue']>[1]): Promise<Enqueued>
  turn(step?: Partial<Step>): Promise<Turn>
  claim(given?: Partial<Claim>, owner?: string): Promise<Turn['claimed']>
  /** Claims what must be the only one that is due, once these were added. */
  lease(...given: readonly Wanted[]): Promise<Lease>
  /** As `claim`, of which the first two must be due. */
  two(...given: Parameters<Kit['claim']>): Promise<[ClaimedTask, ClaimedTask]>
  settle(lease: Lease, next: Settlement['next'], rest?: Parameters<typeof settlementOf>[2]): Promise<string | undefined>
  get(taskId: string): Promise<StoredTask>
  finish(taskId: string, next: Settlement['next']): Promise<void>
}

export async function setup(open: Open, terms: Partial<StoreTerms> = {}): Promise<Kit> {
  const clock = fakeClock()
  const store = await open({ clock, ...terms })
  onTestFinished(() => store.close())
  let count = 0
  const kit: Kit = {
    store,
    clock,
    pass: (ms) => clock.step(ms),
    async add(...given) {
      const tasks = given.map((each) => newTask(++count, each))
      const outcomes = await store.enqueue(tasks)
      for (const { taskId, outcome } of outcomes) if (outcome !== 'stored') throw new Error(`${taskId}: ${outcome}`)
      return tasks.map(({ taskId }) => taskId)
    },
    async enqueue(task, lease) {
      const [outcome] = await store.enqueue([task], lease)
      if (!outcome) throw new Error('no outcome')
      return outcome
    },
    turn: (step = {}) => store.turn({ owner: 'runner', settle: [], renew: [], claim: null, ...step }),
    claim: async (given, owner = 'runner') => (await kit.turn({ owner, claim: claimOf(given) })).claimed,
    async lease(...given) {
      if (given.length > 0) await kit.add(...given)
      const claimed = await kit.claim()
      const [first] = claimed
      if (!first || claimed.length > 1) throw new Error(`${claimed.length} tasks were due`)
      return first.lease
    },
    async two(...given) {
      const claimed = await kit.claim(...given)
      if (claimed.length < 2) throw new Error(`${claimed.length} tasks were due`)
      return claimed as [ClaimedTask, ClaimedTask]
    },
    settle: async (lease, next, rest) => (await kit.turn({ settle: [settlementOf(lease, next, rest)] })).settled[0],
    async get(taskId) {
      const task = await store.get(taskId)
      if (!task) throw new Error(`${taskId} is not here`)
      return task
    },
    async finish(taskId, next) {
      const claimed = await kit.claim()
      for (const { lease } of claimed) {
        await kit.settle(lease, lease.taskId === taskId ? next : releaseIn(0), { log: UNSENT })
      }
    },
  }
  return kit
}

/** What `of` gives by now, whenever a property of it is asked for. */
export const partOf = <T extends object>(of: () => T): T =>
  new Proxy({} as T, {
    get(_, name) {
      const value: unknown = Reflect.get(of(), name)
      return typeof value === 'function' ? value.bind(of()) : value
    },
  })

/** A kit for the rules of a suite: each of them has a store of its own. */
export function kitFor(open: Open, terms: Partial<StoreTerms> = {}): Kit {
  let kit: Kit
  beforeEach(async () => {
    kit = await setup(open, terms)
  })
  return {
    store: partOf(() => kit.store),
    clock: partOf(() => kit.clock),
    pass: (ms) => kit.pass(ms),
    add: (...given) => kit.add(...given),
    enqueue: (...given) => kit.enqueue(...given),
    turn: (step) => kit.turn(step),
    claim: (...given) => kit.claim(...given),
    lease: (...given) => kit.lease(...given),
    two: (...given) => kit.two(...given),
    settle: (...given) => kit.settle(...given),
    get: (taskId) => kit.get(taskId),
    finish: (...given) => kit.finish(...given),
  }
}

/** `test` of a part that only some stores have: one without it keeps the rule. */
export function testWhere(has: () => unknown) {
  const plain = (title: string, body: () => Promise<void>) => test(title, async () => (has() ? body() : undefined))
  const each =
    <Row>(rows: readonly Row[]) =>
    (title: string, body: (row: Row) => Promise<void>) =>
      test.for(rows)(title, async (row) => (has() ? body(row) : undefined))
  return Object.assign(plain, { for: each })
}

/** Lanes of one principal, and of another. */
export const ann: Wanted = { principal: 'ann' }
export const bob: Wanted = { principal: 'bob' }
export const annElsewhere: Wanted = { ...ann, origin: OTHER }

export const times = <T>(count: number, one: T): T[] => Array.from({ length: count }, () => one)
/** So many tasks, each by its number from 0 on. */
export const many = (count: number, wanted: (n: number) => Wanted): Wanted[] =>
  Array.from({ length: count }, (_, n) => wanted(n))

/** A claim, in the words that bounds and limits have a say in. */
export async function look({ turn }: Kit, claim: Partial<Claim>) {
  const { claimed, nextInMs, blockedByLimit, lanes } = await turn({ claim: claimOf(claim) })
  const waits = Object.fromEntries(lanes.map((lane) => [lane.lane, lane.nextInMs]))
  return { ids: idsOf(claimed), claimed, nextInMs, blockedByLimit, lanes, waits }
}

export const succeed = ({ turn }: Kit, claimed: Turn['claimed']): Promise<Turn> =>
  turn({ settle: claimed.map(({ lease }) => settlementOf(lease, SUCCEEDED)) })

export const TERMS: StoreTerms = {
  capacity: 1_000,
  capacityBytes: 1_000_000,
  maxLaneHoldMs: 60_000,
  retention: { terminalMs: 86_400_000, maxTerminal: 1_000, deadLetterMs: 86_400_000, maxDeadLetters: 1_000 },
}

export const idsOf = (claimed: Turn['claimed']): readonly string[] => claimed.map(({ task }) => task.taskId)

export const ZERO = { pending: 0, inFlight: 0, succeeded: 0, exhausted: 0, cancelled: 0, purged: 0, bytes: 0 }

/** What locks, or other tabs, have to do first. */
export async function becomes<T>(read: () => T | Promise<T>, wanted: T): Promise<void> {
  for (const until = Date.now() + 10_000; ; ) {
    const seen = await read()
    try {
      expect(seen).toEqual(wanted)
      return
    } catch (error) {
      if (Date.now() > until) throw error
    }
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
}
