// Stores for everyone with one fault each: see store-mutants.ts.

import type { Claim, Step, StoreTerms, TaskStore, Turn } from '../../js/api/store.ts'
import { MemoryStore } from '../../js/stores/memory.ts'
import type { Open } from './store-contract/kit.ts'
import { IgnoresPauses } from './store-mutants.ts'

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

class LeavesNoPlaces extends MemoryStore {
  override async turn(step: Step): Promise<Turn> {
    const { perFree: _, ...claim } = step.claim ?? {}
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
      LeavesNoPlaces,
      GivesOneTokenTooMany,
      SharesNothing,
      TakesTheFirstLimitThatFits,
      SleepsThroughATokenThatComes,
    ].map((Mutant): [string, Open] => [Mutant.name, (terms) => new Mutant({ ...terms, everyone: true })]),
  ),
}
