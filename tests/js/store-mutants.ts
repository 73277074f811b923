// Stores with one fault each. The model-based part of the contract must tell every one of them from the reference:
// a check that cannot fail is none.

import type {
  Claim,
  Enqueued,
  NewTask,
  Settlement,
  Step,
  StoredTask,
  StoreTerms,
  TaskStore,
  Turn,
} from '../../js/api/store.ts'
import { MemoryStore, type MemoryStoreOptions } from '../../js/stores/memory.ts'
import { resolveTerms } from '../../js/stores/store-options.ts'
import type { Open } from './store-contract/kit.ts'

type Fault = (own: MemoryStore, options: MemoryStoreOptions) => Partial<TaskStore>

/** A store that is sound but for what `fault` does in its place. */
function faulty(fault: Fault, everyone?: true): Open {
  return (terms) => {
    const options = { ...terms, ...(everyone && { everyone }) }
    const own = new MemoryStore(options)
    const faults = fault(own, options)
    return new Proxy<TaskStore>(own, {
      get(_, name) {
        const value: unknown = Reflect.get(name in faults ? faults : own, name)
        return typeof value === 'function' ? value.bind(own) : value
      },
    })
  }
}

const inSteps =
  (change: (step: Step) => Step): Fault =>
  (own) => ({ turn: (step) => own.turn(change(step)) })
const inClaims = (change: (claim: Claim) => Claim): Fault =>
  inSteps(({ claim, ...step }) => ({ ...step, claim: claim && change(claim) }))
const inSettlements = (change: (settlement: Settlement) => Settlement): Fault =>
  inSteps((step) => ({ ...step, settle: step.settle.map(change) }))
const inTurns =
  (change: (turn: Turn, step: Step) => Turn): Fault =>
  (own) => ({ turn: async (step) => change(await own.turn(step), step) })

/** The token of the latest lease of each task, kept beside `own`. */
function watchingTokens(change: (tokens: ReadonlyMap<string, number>, settlement: Settlement) => Settlement): Fault {
  return (own) => {
    const tokens = new Map<string, number>()
    return {
      async turn(step) {
        const turn = await own.turn({ ...step, settle: step.settle.map((each) => change(tokens, each)) })
        for (const { lease } of turn.claimed) tokens.set(lease.taskId, lease.token)
        return turn
      },
    }
  }
}

/** Tasks are enqueued one by one. */
const enqueuing =
  (one: (own: MemoryStore, task: NewTask, enqueue: () => Promise<Enqueued>) => Promise<Enqueued>): Fault =>
  (own) => ({
    async enqueue(tasks, lease) {
      const outcomes: Enqueued[] = []
      for (const task of tasks) {
        outcomes.push(await one(own, task, async () => (await own.enqueue([task], lease))[0] as Enqueued))
      }
      return outcomes
    },
  })

const losesATask: Fault = (own) => {
  let count = 0
  return {
    async enqueue(tasks, lease) {
      const outcomes = await own.enqueue(tasks, lease)
      for (const { taskId, outcome } of outcomes) {
        if (outcome === 'stored' && ++count % 5 === 0) await own.purge({ taskId })
      }
      return outcomes
    },
  }
}

/** A lease runs out earlier than it says. */
const givesTwoLeases: Fault = (own) => ({
  async turn({ claim, ...step }) {
    const turn = await own.turn({ ...step, claim: claim && { ...claim, leaseMs: claim.leaseMs / 2 } })
    const forMs = claim?.leaseMs ?? 0
    return { ...turn, claimed: turn.claimed.map(({ task, lease }) => ({ task, lease: { ...lease, forMs } })) }
  },
})

const dropsALateSuccess = watchingTokens((tokens, settlement) => {
  const isLate = settlement.lease.token < (tokens.get(settlement.lease.taskId) ?? 0)
  const failed = { kind: 'exhausted', reason: 'outcome_unknown' } as const
  return isLate && settlement.next.kind === 'succeeded' ? { ...settlement, next: failed } : settlement
})

/** A hold begins only after the claim. */
const holdsTooLate: Fault = (own) => ({
  async turn({ hold = [], ...step }) {
    const turn = await own.turn(step)
    await own.turn({ owner: step.owner, settle: [], hold, renew: [], claim: null })
    return turn
  },
})

const refundedTwice = (task: StoredTask): StoredTask => ({ ...task, attemptNumber: task.attemptNumber - task.refunds })
const refundsTwice: Fault = (own) => ({
  async turn(step) {
    const turn = await own.turn(step)
    return { ...turn, claimed: turn.claimed.map(({ task, lease }) => ({ task: refundedTwice(task), lease })) }
  },
  async list(filter) {
    const page = await own.list(filter)
    return { ...page, tasks: page.tasks.map(refundedTwice) }
  },
})

const keepsTheKeyOfACancelledTask: Fault = (own) => {
  const keepers = new Map<string, string>()
  return enqueuing(async (_, task, enqueue) => {
    const name = JSON.stringify([task.principal, task.idempotencyKey])
    const keeper = await own.get(keepers.get(name) ?? '')
    if (task.idempotencyKey !== null && keeper?.status === 'CANCELLED') {
      return { taskId: keeper.taskId, outcome: 'duplicate' }
    }
    const outcome = await enqueue()
    if (outcome.outcome === 'stored') keepers.set(name, task.taskId)
    return outcome
  })(own, {})
}

/** Its clock stands still instead of going back, however far. */
const waitsForTheStepAgain: Open = ({ clock, ...terms }) => {
  let latest = 0
  const now = () => {
    latest = Math.max(latest, clock.now())
    return latest
  }
  return new MemoryStore({ ...terms, clock: { ...clock, now } })
}

const dropsTheOldestWhenFull = enqueuing(async (own, _, enqueue) => {
  const outcome = await enqueue()
  const [oldest] = (await own.list({ status: 'PENDING', limit: 1 })).tasks
  if (outcome.outcome !== 'full' || !oldest) return outcome
  await own.purge({ taskId: oldest.taskId })
  return enqueue()
})

/** Each answer begins the limit of a hold anew. */
const renewsAHoldWithoutEnd: Fault = (own, options) => {
  let maxLaneHoldMs = 0
  const configure = (terms: StoreTerms): void => {
    maxLaneHoldMs = terms.maxLaneHoldMs
    own.configure({ ...terms, maxLaneHoldMs: Number.MAX_SAFE_INTEGER })
  }
  configure(resolveTerms('memoryStore', options).terms)
  const cut = <T extends { readonly holdLaneForMs?: number }>(given: T): T => ({
    ...given,
    holdLaneForMs: Math.min(given.holdLaneForMs ?? 0, maxLaneHoldMs),
  })
  return {
    configure,
    enqueue: (tasks, lease) => own.enqueue(tasks.map(cut), lease),
    turn: (step) => own.turn({ ...step, settle: step.settle.map(cut) }),
  }
}

const sleepsThroughADeadline = inTurns((turn) => {
  const least = Math.min(...turn.lanes.map(({ nextInMs }) => nextInMs ?? Number.POSITIVE_INFINITY))
  const isKept = turn.claimed.length > 0 || turn.nextInMs === null || least <= turn.nextInMs
  return isKept ? turn : { ...turn, nextInMs: null }
})

/** Each claim brings the body of the task before it. */
const givesAnothersBody: Fault = (own) => {
  let before = new Uint8Array([7])
  return {
    async turn(step) {
      const turn = await own.turn(step)
      const claimed = []
      for (const each of turn.claimed) {
        const body = await own.body(each.task.taskId)
        claimed.push({ ...each, body: before })
        if (body) before = new Uint8Array(body)
      }
      return { ...turn, claimed }
    },
  }
}

/** The pauses are kept, and nothing goes by them. */
const ignoresPauses: Fault = () => ({ pauses: new MemoryStore().pauses })

const FAULTS: Readonly<Record<string, Fault>> = {
  LosesATask: losesATask,
  GivesTwoLeases: givesTwoLeases,
  AppliesAStaleFailure: watchingTokens((tokens, { lease, ...rest }) => ({
    ...rest,
    lease: { ...lease, token: tokens.get(lease.taskId) ?? lease.token },
  })),
  DropsALateSuccess: dropsALateSuccess,
  ForgetsToCount: (own) => ({
    async counts() {
      const counts = await own.counts()
      return { ...counts, purged: Math.min(counts.purged, 3) }
    },
  }),
  IgnoresHolds: inSettlements(({ holdLaneForMs: _, ...rest }) => rest),
  IgnoresHoldsOfARunner: inSteps(({ hold: _, ...step }) => step),
  HoldsTooLate: holdsTooLate,
  RefundsTwice: refundsTwice,
  KeepsTheKeyOfACancelledTask: keepsTheKeyOfACancelledTask,
  IgnoresTheLimitOfALane: inClaims((claim) => ({ ...claim, perLane: Number.POSITIVE_INFINITY })),
  TakesTasksOfALiveHome: inClaims((claim) => ({ ...claim, skipHomes: [] })),
  FlushesWhatTheServerAskedFor: inSettlements(({ next, ...rest }) => ({
    ...rest,
    next: next.kind === 'retry' ? { ...next, serverMs: 0 } : next,
  })),
  DropsTheOldestWhenFull: dropsTheOldestWhenFull,
  RenewsAHoldWithoutEnd: renewsAHoldWithoutEnd,
  TrimsInSilence: inTurns(({ trimmed: _, ...turn }) => turn),
  SleepsThroughADeadline: sleepsThroughADeadline,
  RedrivesInPlace: (own) => ({ redrive: (taskIds, options) => own.redrive(taskIds, { ...options, spacingMs: 0 }) }),
  ForgetsWhatNeverLeft: (own) => ({
    history: async (taskId) => (await own.attempts(taskId, { limit: 100 })).attempts,
  }),
  IgnoresPauses: ignoresPauses,
  MakesAllDueAtOnce: (own) => ({ due: (taskIds) => own.due(taskIds, 0) }),
  ListsRisingAlone: (own) => ({ list: ({ order: _, ...filter }) => own.list(filter) }),
  GivesAnothersBody: givesAnothersBody,
  /** What waited for a hold or a limit is said to have come due with the claim. */
  SaysThatNothingIsLate: inTurns((turn) => ({
    ...turn,
    claimed: turn.claimed.map((each) => ({ ...each, dueAt: turn.now })),
  })),
}

export const mutants: Readonly<Record<string, Open>> = {
  WaitsForTheStepAgain: waitsForTheStepAgain,
  ...Object.fromEntries(Object.entries(FAULTS).map(([name, fault]) => [name, faulty(fault)])),
}

const inLimits = (change: (limits: NonNullable<Claim['limits']>) => NonNullable<Claim['limits']>): Fault =>
  inClaims((claim) => ({ ...claim, ...(claim.limits && { limits: change(claim.limits) }) }))

/** All principals together may have what each may. */
const hasOneQuotaForAll: Fault = (own) => ({
  configure({ quotaOf, ...terms }) {
    const { capacity = terms.capacity, capacityBytes = terms.capacityBytes } = quotaOf?.('ann') ?? {}
    own.configure({ ...terms, capacity, capacityBytes })
  },
})

/** An origin is taken for the lane of no principal. */
const shutsOneLaneOfAnOrigin: Fault = (own) => ({
  async turn({ claim, ...step }) {
    const shut = claim?.bounds?.filter(({ max }) => max === 0).map(({ lane }) => lane)
    if (claim?.lanes !== 'any' || !shut?.length) return own.turn({ ...step, claim })
    await Promise.all(shut.map((origin) => own.pauses.put({ id: `shut ${origin}`, origin, principal: null, at: 0 })))
    const bounds = claim.bounds?.filter(({ max }) => max > 0) ?? []
    const turn = await own.turn({ ...step, claim: { ...claim, bounds } })
    await Promise.all(shut.map((origin) => own.pauses.lift(`shut ${origin}`)))
    return turn
  },
})

/** What waits for a token is looked for when something else happens. */
const sleepsThroughATokenThatComes = inTurns((turn, { claim }) => {
  const isRated = claim?.limits?.some(({ perSecond }) => perSecond !== undefined)
  const isSoon = turn.nextInMs !== null && turn.nextInMs > 0 && turn.nextInMs <= 1_000
  return isRated && isSoon ? { ...turn, nextInMs: 1_000 } : turn
})

type Ends = Required<Pick<TaskStore, 'untold' | 'told'>>

const inEnds =
  (change: (own: Ends) => Partial<Ends>): Fault =>
  ({ untold, told }) => {
    if (!untold || !told) throw new Error('a store for everyone tells ends')
    return change({ untold, told })
  }

/** Of a task that is named its end is told, whichever was meant. */
const tellsWhicheverEnd = inEnds(({ untold, told }) => ({
  async told(ends) {
    const named = (await untold(1_000)).filter(({ task }) => ends.some(({ taskId }) => taskId === task.taskId))
    await told(named.map(({ task: { taskId }, endedAt }) => ({ taskId, endedAt })))
  },
}))

/** A task of which one end was told is done with. */
const tellsOneEndOfATask = inEnds(({ untold, told }) => {
  const done = new Set<string>()
  return {
    async told(ends) {
      const before = await untold(1_000)
      await told(ends)
      const left = new Set((await untold(1_000)).map(({ task }) => task.taskId))
      for (const { task } of before) if (!left.has(task.taskId)) done.add(task.taskId)
    },
    untold: async (limit) => (await untold(1_000)).filter(({ task }) => !done.has(task.taskId)).slice(0, limit),
  }
})

const FAULTS_FOR_EVERYONE: Readonly<Record<string, Fault>> = {
  TellsWhicheverEnd: tellsWhicheverEnd,
  TellsOneEndOfATask: tellsOneEndOfATask,
  IgnoresPauses: ignoresPauses,
  /** Each lane of an origin gives as much as all of them may. */
  BoundsEachLaneByItself: inClaims(({ bounds, ...claim }) => ({
    ...claim,
    ...(bounds && { bounds: bounds.filter(({ max }) => max === 0) }),
  })),
  ShutsOneLaneOfAnOrigin: shutsOneLaneOfAnOrigin,
  HasOneQuotaForAll: hasOneQuotaForAll,
  IgnoresTheLimitOfAPrincipal: inClaims(({ perPrincipal: _, ...claim }) => claim),
  LeavesNoPlaces: inClaims(({ perFree: _, ...claim }) => claim),
  GivesOneTokenTooMany: inLimits((limits) => limits.map((one) => ({ ...one, burst: (one.burst ?? 1) + 1 }))),
  /** Each lane has what its origin is to share. */
  SharesNothing: inLimits((limits) => limits.map(({ sharedBy: _, ...one }) => one)),
  TakesTheFirstLimitThatFits: inLimits((limits) => {
    const first = limits.findIndex(({ origins }) => origins.includes('*'))
    return first < 0 ? limits : limits.slice(0, first + 1)
  }),
  SleepsThroughATokenThatComes: sleepsThroughATokenThatComes,
}

export const mutantsForEveryone: Readonly<Record<string, Open>> = Object.fromEntries(
  Object.entries(FAULTS_FOR_EVERYONE).map(([name, fault]) => [name, faulty(fault, true)]),
)
