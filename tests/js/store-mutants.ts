// Stores with one fault each. The model-based part of the contract must tell every one of them from the reference:
// a check that cannot fail is none.

import type {
  ClaimedTask,
  Enqueued,
  Lease,
  NewTask,
  Pauses,
  Settlement,
  Step,
  StoredTask,
  StoreTerms,
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
export class IgnoresPauses extends MemoryStore {
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
