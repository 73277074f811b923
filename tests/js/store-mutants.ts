// Stores with one fault each. The model-based part of the contract must tell every one of them from the reference:
// a check that cannot fail is none.

import type {
  Claim,
  ClaimedTask,
  Enqueued,
  Lease,
  NewTask,
  Pauses,
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

/** A task that does not wait is forgotten now and then. */
class LosesATask extends MemoryStore {
  #count = 0
  override async enqueue(tasks: readonly NewTask[], lease?: Parameters<MemoryStore['enqueue']>[1]) {
    const outcomes = await super.enqueue(tasks, lease)
    for (const { taskId, outcome } of outcomes) {
      if (outcome === 'stored' && ++this.#count % 5 === 0) await this.purge({ taskId })
    }
    return outcomes
  }
}

/** A lease runs out earlier than it says. */
class GivesTwoLeases extends MemoryStore {
  override async turn(step: Step): Promise<Turn> {
    const { claim } = step
    const turn = await super.turn({ ...step, claim: claim && { ...claim, leaseMs: claim.leaseMs / 2 } })
    const forMs = claim?.leaseMs ?? 0
    return { ...turn, claimed: turn.claimed.map(({ task, lease }) => ({ task, lease: { ...lease, forMs } })) }
  }
}

/** Whoever settles has the lease. */
class AppliesAStaleFailure extends MemoryStore {
  readonly #tokens = new Map<string, number>()
  override async turn(step: Step): Promise<Turn> {
    const mine = (lease: Lease) => ({ ...lease, token: this.#tokens.get(lease.taskId) ?? lease.token })
    const turn = await super.turn({
      ...step,
      settle: step.settle.map((each) => ({ ...each, lease: mine(each.lease) })),
    })
    for (const { lease } of turn.claimed) this.#tokens.set(lease.taskId, lease.token)
    return turn
  }
}

/** Only who has the lease settles. */
class DropsALateSuccess extends MemoryStore {
  readonly #tokens = new Map<string, number>()
  override async turn(step: Step): Promise<Turn> {
    const isLate = ({ lease, next }: Settlement) =>
      next.kind === 'succeeded' && lease.token < (this.#tokens.get(lease.taskId) ?? 0)
    const failed: Settlement['next'] = { kind: 'exhausted', reason: 'outcome_unknown' }
    const settle = step.settle.map((each) => (isLate(each) ? { ...each, next: failed } : each))
    const turn = await super.turn({ ...step, settle })
    for (const { lease } of turn.claimed) this.#tokens.set(lease.taskId, lease.token)
    return turn
  }
}

class ForgetsToCount extends MemoryStore {
  override async counts() {
    const counts = await super.counts()
    return { ...counts, purged: Math.min(counts.purged, 3) }
  }
}

const withSettlements = (step: Step, change: (settlement: Settlement) => Settlement): Step => {
  return { ...step, settle: step.settle.map(change) }
}

class IgnoresHolds extends MemoryStore {
  override async turn(step: Step): Promise<Turn> {
    return super.turn(withSettlements(step, ({ holdLaneForMs: _, ...rest }) => rest))
  }
}

/** Only a settlement holds a lane. */
class IgnoresHoldsThatItIsTold extends MemoryStore {
  override async turn({ hold: _, ...step }: Step): Promise<Turn> {
    return super.turn(step)
  }
}

/** A hold that it is told begins only after the claim. */
class HoldsTooLate extends MemoryStore {
  override async turn({ hold = [], ...step }: Step): Promise<Turn> {
    const turn = await super.turn(step)
    await super.turn({ owner: step.owner, settle: [], hold, renew: [], claim: null })
    return turn
  }
}

const refundedTwice = (task: StoredTask): StoredTask => ({ ...task, attemptNumber: task.attemptNumber - task.refunds })

class RefundsTwice extends MemoryStore {
  override async turn(step: Step): Promise<Turn> {
    const turn = await super.turn(step)
    const claimed = turn.claimed.map(({ task, lease }) => ({ task: refundedTwice(task), lease }))
    return { ...turn, claimed }
  }
  override async list(filter: Parameters<MemoryStore['list']>[0]) {
    const page = await super.list(filter)
    return { ...page, tasks: page.tasks.map(refundedTwice) }
  }
}

class KeepsTheKeyOfACancelledTask extends MemoryStore {
  readonly #keepers = new Map<string, string>()
  override async enqueue(tasks: readonly NewTask[], lease?: Parameters<MemoryStore['enqueue']>[1]) {
    const outcomes: Enqueued[] = []
    for (const task of tasks) {
      const name = JSON.stringify([task.principal, task.idempotencyKey])
      const keeper = await this.get(this.#keepers.get(name) ?? '')
      if (task.idempotencyKey !== null && keeper?.status === 'CANCELLED') {
        outcomes.push({ taskId: keeper.taskId, outcome: 'duplicate' })
        continue
      }
      outcomes.push(...(await super.enqueue([task], lease)))
      if (outcomes.at(-1)?.outcome === 'stored') this.#keepers.set(name, task.taskId)
    }
    return outcomes
  }
}

class IgnoresTheLimitOfALane extends MemoryStore {
  override async turn({ claim, ...step }: Step): Promise<Turn> {
    return super.turn({ ...step, claim: claim && { ...claim, perLane: Number.POSITIVE_INFINITY } })
  }
}

class TakesTasksOfALiveHome extends MemoryStore {
  override async turn({ claim, ...step }: Step): Promise<Turn> {
    return super.turn({ ...step, claim: claim && { ...claim, skipHomes: [] } })
  }
}

class FlushesWhatTheServerAskedFor extends MemoryStore {
  override async turn(step: Step): Promise<Turn> {
    return super.turn(
      withSettlements(step, (settlement) => {
        const { next } = settlement
        return next.kind === 'retry' ? { ...settlement, next: { ...next, serverMs: 0 } } : settlement
      }),
    )
  }
}

/** Its clock stands still instead of going back, however far. */
class WaitsForTheStepAgain extends MemoryStore {
  constructor({ clock, ...rest }: MemoryStoreOptions) {
    let latest = 0
    const now = () => {
      latest = Math.max(latest, clock?.now() ?? 0)
      return latest
    }
    super({ ...rest, ...(clock ? { clock: { ...clock, now } } : {}) })
  }
}

class DropsTheOldestWhenFull extends MemoryStore {
  override async enqueue(tasks: readonly NewTask[], lease?: Parameters<MemoryStore['enqueue']>[1]) {
    const outcomes: Enqueued[] = []
    for (const task of tasks) {
      let [outcome] = await super.enqueue([task], lease)
      const [oldest] = (await this.list({ status: 'PENDING', limit: 1 })).tasks
      if (outcome?.outcome === 'full' && oldest) {
        await this.purge({ taskId: oldest.taskId })
        ;[outcome] = await super.enqueue([task], lease)
      }
      if (outcome) outcomes.push(outcome)
    }
    return outcomes
  }
}

/** Each answer begins the limit of a hold anew. */
class RenewsAHoldWithoutEnd extends MemoryStore {
  #maxLaneHoldMs = 0
  constructor(options: MemoryStoreOptions) {
    super(options)
    this.configure(resolveTerms('memoryStore', options).terms)
  }
  override configure(terms: StoreTerms): void {
    this.#maxLaneHoldMs = terms.maxLaneHoldMs
    super.configure({ ...terms, maxLaneHoldMs: Number.MAX_SAFE_INTEGER })
  }
  override async enqueue(tasks: readonly NewTask[], lease?: Parameters<MemoryStore['enqueue']>[1]) {
    return super.enqueue(tasks.map(this.#cut), lease)
  }
  override async turn(step: Step): Promise<Turn> {
    return super.turn(withSettlements(step, this.#cut))
  }
  readonly #cut = <T extends { readonly holdLaneForMs?: number }>(given: T): T => ({
    ...given,
    holdLaneForMs: Math.min(given.holdLaneForMs ?? 0, this.#maxLaneHoldMs),
  })
}

class TrimsInSilence extends MemoryStore {
  override async turn(step: Step): Promise<Turn> {
    const { trimmed: _, ...turn } = await super.turn(step)
    return turn
  }
}

class SleepsThroughADeadline extends MemoryStore {
  override async turn(step: Step): Promise<Turn> {
    const turn = await super.turn(step)
    const dueInMs = turn.lanes.map(({ nextInMs }) => nextInMs ?? Number.POSITIVE_INFINITY)
    const least = Math.min(...dueInMs)
    return turn.claimed.length > 0 || turn.nextInMs === null || least <= turn.nextInMs
      ? turn
      : { ...turn, nextInMs: null }
  }
}

class RedrivesInPlace extends MemoryStore {
  override async redrive(
    taskIds: readonly string[],
    options: Parameters<MemoryStore['redrive']>[1],
  ): ReturnType<MemoryStore['redrive']> {
    return super.redrive(taskIds, { ...options, spacingMs: 0 })
  }
}

class ForgetsWhatNeverLeft extends MemoryStore {
  override async history(taskId: string) {
    return (await this.attempts(taskId, { limit: 100 })).attempts
  }
}

/** Their pauses are kept, and nothing goes by them. */
class IgnoresPauses extends MemoryStore {
  override readonly pauses: Pauses = new MemoryStore().pauses
}

class MakesAllDueAtOnce extends MemoryStore {
  override async due(taskIds: readonly string[]) {
    return super.due(taskIds, 0)
  }
}

class ListsRisingAlone extends MemoryStore {
  override async list({ order: _, ...filter }: Parameters<MemoryStore['list']>[0]) {
    return super.list(filter)
  }
}

/** Each lane of an origin gives as much as all of them may. */
class BoundsEachLaneByItself extends MemoryStore {
  override async turn({ claim, ...step }: Step): Promise<Turn> {
    const bounds = claim?.bounds?.filter(({ max }) => max === 0)
    return super.turn({ ...step, claim: claim && { ...claim, ...(bounds && { bounds }) } })
  }
}

const withLimits = (step: Step, change: (limits: NonNullable<Claim['limits']>) => Claim['limits']): Step => {
  const { claim } = step
  if (!claim?.limits) return step
  const { limits, ...rest } = claim
  const changed = change(limits)
  return { ...step, claim: { ...rest, ...(changed && { limits: changed }) } }
}

class IgnoresTheLimitOfAPrincipal extends MemoryStore {
  override async turn(step: Step): Promise<Turn> {
    const { perPrincipal: _, ...claim } = step.claim ?? {}
    return super.turn(step.claim ? { ...step, claim: claim as Claim } : step)
  }
}

class GivesOneTokenTooMany extends MemoryStore {
  override async turn(step: Step): Promise<Turn> {
    return super.turn(withLimits(step, (limits) => limits.map((one) => ({ ...one, burst: (one.burst ?? 1) + 1 }))))
  }
}

/** Each lane has what its origin is to share. */
class SharesNothing extends MemoryStore {
  override async turn(step: Step): Promise<Turn> {
    return super.turn(withLimits(step, (limits) => limits.map(({ sharedBy: _, ...one }) => one)))
  }
}

class TakesTheFirstLimitThatFits extends MemoryStore {
  override async turn(step: Step): Promise<Turn> {
    return super.turn(
      withLimits(step, (limits) => {
        const first = limits.findIndex(({ origins }) => origins.includes('*'))
        return first < 0 ? limits : limits.slice(0, first + 1)
      }),
    )
  }
}

/** What waits for a token is looked for when something else happens. */
class SleepsThroughATokenThatComes extends MemoryStore {
  override async turn(step: Step): Promise<Turn> {
    const turn = await super.turn(step)
    const isRated = step.claim?.limits?.some(({ perSecond }) => perSecond !== undefined)
    return isRated && turn.nextInMs !== null && turn.nextInMs > 0 && turn.nextInMs <= 1_000
      ? { ...turn, nextInMs: 1_000 }
      : turn
  }
}

/** All principals together may have what each may. */
class HasOneQuotaForAll extends MemoryStore {
  override configure({ quotaOf, ...terms }: StoreTerms): void {
    const { capacity = terms.capacity, capacityBytes = terms.capacityBytes } = quotaOf?.('ann') ?? {}
    super.configure({ ...terms, capacity, capacityBytes })
  }
}

/** An origin is taken for the lane of no principal. */
class ShutsOneLaneOfAnOrigin extends MemoryStore {
  override async turn({ claim, ...step }: Step): Promise<Turn> {
    const shut = claim?.bounds?.filter(({ max }) => max === 0).map(({ lane }) => lane)
    if (claim?.lanes !== 'any' || !shut?.length) return super.turn({ ...step, claim })
    await Promise.all(shut.map((origin) => this.pauses.put({ id: `shut ${origin}`, origin, principal: null, at: 0 })))
    const bounds = claim.bounds?.filter(({ max }) => max > 0) ?? []
    const turn = await super.turn({ ...step, claim: { ...claim, bounds } })
    await Promise.all(shut.map((origin) => this.pauses.lift(`shut ${origin}`)))
    return turn
  }
}

const made =
  (Mutant: new (options: MemoryStoreOptions) => MemoryStore): Open =>
  (terms) =>
    new Mutant(terms)

/** Each claim brings the body of the task before it. */
class GivesAnothersBody extends MemoryStore {
  #before = new Uint8Array([7])
  override async turn(step: Step): Promise<Turn> {
    const turn = await super.turn(step)
    const claimed: ClaimedTask[] = []
    for (const each of turn.claimed) {
      const own = await this.body(each.task.taskId)
      claimed.push({ ...each, body: this.#before })
      if (own) this.#before = new Uint8Array(own)
    }
    return { ...turn, claimed }
  }
}

/** What waited for a hold or a limit is said to have come due with the claim. */
class SaysThatNothingIsLate extends MemoryStore {
  override async turn(step: Step): Promise<Turn> {
    const turn = await super.turn(step)
    return { ...turn, claimed: turn.claimed.map((each) => ({ ...each, dueAt: turn.now })) }
  }
}

export const mutants: Readonly<Record<string, Open>> = Object.fromEntries(
  [
    LosesATask,
    GivesTwoLeases,
    AppliesAStaleFailure,
    DropsALateSuccess,
    ForgetsToCount,
    IgnoresHolds,
    IgnoresHoldsThatItIsTold,
    HoldsTooLate,
    RefundsTwice,
    KeepsTheKeyOfACancelledTask,
    IgnoresTheLimitOfALane,
    TakesTasksOfALiveHome,
    FlushesWhatTheServerAskedFor,
    WaitsForTheStepAgain,
    DropsTheOldestWhenFull,
    RenewsAHoldWithoutEnd,
    TrimsInSilence,
    SleepsThroughADeadline,
    RedrivesInPlace,
    ForgetsWhatNeverLeft,
    IgnoresPauses,
    MakesAllDueAtOnce,
    ListsRisingAlone,
    GivesAnothersBody,
    SaysThatNothingIsLate,
  ].map((Mutant) => [Mutant.name, made(Mutant)]),
)

type Telling = Required<Pick<TaskStore, 'untold' | 'told'>>

/** A store for everyone that is told of ends, and tells them, in a way of its own. */
const telling =
  (change: (own: Telling) => Partial<Telling>): Open =>
  (terms) => {
    const store = new MemoryStore({ ...terms, everyone: true })
    const { untold, told } = store
    if (!untold || !told) throw new Error('a store for everyone tells ends')
    return Object.assign(store, change({ untold, told }))
  }

/** Of a task that is named its end is told, whichever was meant. */
const tellsWhicheverEnd = telling(({ untold, told }) => ({
  async told(ends) {
    const named = (await untold(1_000)).filter(({ task }) => ends.some(({ taskId }) => taskId === task.taskId))
    await told(named.map(({ task: { taskId }, endedAt }) => ({ taskId, endedAt })))
  },
}))

/** A task that was told of is done with. */
const tellsOneEndOfATask = telling(({ untold, told }) => {
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

/** Of stores for everyone. */
export const mutantsForEveryone: Readonly<Record<string, Open>> = {
  tellsWhicheverEnd,
  tellsOneEndOfATask,
  ...Object.fromEntries(
    [
      IgnoresPauses,
      BoundsEachLaneByItself,
      ShutsOneLaneOfAnOrigin,
      HasOneQuotaForAll,
      IgnoresTheLimitOfAPrincipal,
      GivesOneTokenTooMany,
      SharesNothing,
      TakesTheFirstLimitThatFits,
      SleepsThroughATokenThatComes,
    ].map((Mutant): [string, Open] => [Mutant.name, (terms) => new Mutant({ ...terms, everyone: true })]),
  ),
}
