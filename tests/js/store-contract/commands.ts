// The commands of the model-based part: each does the same to both stores, and tells the world what came of it.
import fc from 'fast-check'
import { expect } from 'vitest'
import type { Claim, ClaimedTask, Lease, Settlement, Step, TaskStore, Turn } from '../../../js/api/store.ts'
import * as any from './arbitraries.ts'
import { logOf } from './kit.ts'
import type { World } from './world.ts'

class Command implements fc.AsyncCommand<object, World> {
  readonly #what: string
  readonly #work: (world: World) => Promise<void>

  constructor(what: string, given: unknown, work: (world: World) => Promise<void>) {
    this.#what = `${what}(${fc.stringify(given)})`
    this.#work = work
  }

  check(): boolean {
    return true
  }

  async run(_: object, world: World): Promise<void> {
    await this.#work(world)
    await world.check()
  }

  toString(): string {
    return this.#what
  }
}

const command = <T>(
  what: string,
  given: fc.Arbitrary<T>,
  work: (world: World, given: T) => Promise<unknown>,
): fc.Arbitrary<fc.AsyncCommand<object, World>> =>
  given.map((value) => {
    return new Command(what, value, async (world) => {
      await work(world, value)
    })
  })

interface Pick {
  readonly back: number
  readonly madeUp: boolean
}

const targetOf = (world: World, target: Pick | string) =>
  typeof target === 'string' ? target : (picked(world, target)?.taskId ?? 'nobody')

function picked({ leases }: World, { back, madeUp }: Pick): Lease | undefined {
  const lease = leases.at(-1 - (back % Math.max(1, leases.length)))
  return lease && madeUp ? { ...lease, token: lease.token + 1_000 } : lease
}

/** One lease is settled at most once in a step, and not renewed as well: nobody would. */
function chosen<T extends { readonly pick: Pick }>(world: World, wanted: readonly T[], taken: Set<string>) {
  return wanted.flatMap((each) => {
    const lease = picked(world, each.pick)
    if (!lease || taken.has(lease.taskId)) return []
    taken.add(lease.taskId)
    return [{ ...each, lease }]
  })
}

/** The answer without bodies, which a store may leave to the question: one that has come is what the question would have brought. */
async function turnOn(store: TaskStore, step: Step): Promise<Turn> {
  const turn = await store.turn(step)
  const claimed: ClaimedTask[] = []
  for (const { body, ...rest } of turn.claimed) {
    if (body) expect(bytesOf(body)).toEqual(bytesOf(await store.body(rest.task.taskId)))
    claimed.push(rest)
  }
  return { ...turn, claimed }
}

const stepsOf = (claims: fc.Arbitrary<Claim>) =>
  fc.record({
    owner: any.owners,
    settle: fc.array(any.settlements, { maxLength: 3 }),
    hold: fc.oneof(
      { weight: 3, arbitrary: fc.constant([]) },
      { weight: 1, arbitrary: fc.array(any.holds, { maxLength: 2 }) },
    ),
    renew: fc.array(fc.record({ pick: any.picks, forMs: fc.constantFrom(1_000, 30_000) }), { maxLength: 2 }),
    claim: fc.option(claims, { freq: 5 }),
    silentMs: fc.constantFrom(0, 0, 999, 1_000, 40_000),
  })

const turnOf = (claims: fc.Arbitrary<Claim>) =>
  command('turn', stepsOf(claims), async (world, { owner, claim, hold, silentMs, ...wanted }) => {
    const taken = new Set<string>()
    const settle = chosen(world, wanted.settle, taken).map(
      ({ lease, next, holdLaneForMs, sent, status }): Settlement => {
        const log = logOf(lease.taskId, { responseStatus: sent ? status : null, attemptNumber: lease.token })
        return { lease, next, log, ...(holdLaneForMs > 0 ? { holdLaneForMs } : {}) }
      },
    )
    const renew = chosen(world, wanted.renew, taken).map(({ lease, forMs }) => ({ ...lease, forMs }))
    const silence = { since: world.clock.now() - silentMs, graceMs: 12_000 }
    const answer = await world.turn((store) => turnOn(store, { owner, settle, hold, renew, claim, silence }), claim)
    world.settled(settle, answer, renew)
    world.laneHeld(hold)
    if (claim) await world.claimed(answer, claim)
    for (const taskId of taken) {
      await world.both((store) => store.attempts(taskId, { limit: 200 }))
      await world.history(taskId)
    }
  })

const claimOnlyOf = (claims: fc.Arbitrary<Claim>) =>
  command('claim', fc.record({ owner: any.owners, claim: claims }), async (world, { owner, claim }) => {
    const answer = await world.turn((store) => turnOn(store, { owner, settle: [], renew: [], claim }), claim)
    await world.claimed(answer, claim)
  })

const enqueue = command(
  'enqueue',
  fc.record({ tasks: fc.array(any.tasks, { minLength: 1, maxLength: 6 }), lease: any.enqueueLeases }),
  async (world, { tasks, lease }) => {
    world.enqueued(tasks, await world.step((store) => store.enqueue(tasks, lease)), lease?.leaseMs)
  },
)

/** Some commands read the clock, or not, as a store likes. */
const seeTime = (world: World) => world.step((store) => store.turn({ owner: 'a', settle: [], renew: [], claim: null }))

/** Those that ended first are told; some of these ends are of another moment, and are none. */
const tell = command(
  'tell',
  fc.record({ most: fc.integer({ min: 1, max: 6 }), offsets: fc.array(fc.constantFrom(0, 0, 0, 1), { maxLength: 6 }) }),
  async (world, { most, offsets }) => {
    const untold = await world.both(async (store) => (await store.untold?.(most)) ?? [])
    const ends = offsets.flatMap((offset, i) => {
      const end = untold[i]
      return end ? [{ taskId: end.task.taskId, endedAt: end.endedAt + offset }] : []
    })
    await seeTime(world)
    await world.both(async (store) => store.told?.(ends))
    await world.both(async (store) => (await store.untold?.(100)) ?? [])
  },
)

const told = command('told', any.told, async (world, answers) => {
  for (const { task, passMs } of answers) {
    world.enqueued([task], await world.step((store) => store.enqueue([task])))
    await world.step((store) => store.turn({ owner: 'a', settle: [], renew: [], claim: null }))
    world.clock.step(passMs)
    await world.check()
  }
})

const cancel = command(
  'cancel',
  fc.record({ target: any.targets, as: fc.option(fc.constant('wait_exceeded' as const), { nil: undefined, freq: 2 }) }),
  (world, { target, as }) => {
    const taskId = targetOf(world, target)
    return world.step((store) => store.cancel(taskId, as))
  },
)

const redrive = command(
  'redrive',
  fc.record({
    taskIds: fc.array(any.ids, { minLength: 10, maxLength: 20 }),
    options: fc.record(
      {
        spacingMs: fc.constantFrom(0, 500),
        acceptDuplicateRisk: fc.boolean(),
        policies: fc.array(any.policies, { maxLength: 1 }),
      },
      { requiredKeys: ['spacingMs', 'acceptDuplicateRisk'] },
    ),
  }),
  (world, { taskIds, options }) => world.step((store) => store.redrive(taskIds, options)),
)

const flush = command('flush', fc.option(any.lanes, { nil: undefined }), (world, lane) => {
  return world.step((store) => store.flush(lane))
})

const unparks = fc.record({ principal: any.principals, lane: any.lanes }, { requiredKeys: [] })
const unpark = command('unpark', unparks, (world, filter) =>
  world.step((store) => store.unpark?.(filter) ?? Promise.resolve(0)),
)

const due = command(
  'due',
  fc.record({ taskIds: fc.array(any.ids, { minLength: 1, maxLength: 20 }), inMs: fc.constantFrom(0, 500, 5_000) }),
  async (world, { taskIds, inMs }) => {
    if (world.store.due) await world.step(async (store) => store.due?.(taskIds, inMs))
  },
)

const pause = command('pause', any.pauses, async (world, scope) => {
  if (!world.store.pauses) return
  await seeTime(world)
  await world.both(async ({ pauses }) => pauses?.put(scope))
  world.pauses.set(scope.id, scope)
  await world.both(async ({ pauses }) => pauses?.list())
})

const lift = command('lift', any.pauseIds, async (world, id) => {
  if (!world.store.pauses) return
  await seeTime(world)
  await world.both(async ({ pauses }) => pauses?.lift(id))
  world.pauses.delete(id)
})

const purges = fc.oneof(
  { weight: 6, arbitrary: fc.record({ taskId: any.ids }) },
  {
    weight: 1,
    arbitrary: fc.record({ principal: any.principals, status: any.statuses }, { requiredKeys: ['status'] }),
  },
  { weight: 1, arbitrary: fc.constant('all' as const) },
)
const purge = command('purge', purges, (world, filter) =>
  world.step((store) => (filter === 'all' ? store.purgeAll() : store.purge(filter))),
)

const pass = command('pass', any.passes, async ({ clock }, ms) => clock.step(ms))

const configure = command('configure', any.terms, async (world, { quotas, ...given }) => {
  const { store, reference } = world
  if (!store.configure) return
  const quotaOf = (principal: string | null) => (principal === null ? quotas?.ofNone : quotas?.ofAnn)
  const terms = { ...given, ...(quotas && { quotaOf }) }
  world.maxLaneHoldMs = terms.maxLaneHoldMs
  store.configure(terms)
  reference.configure?.(terms)
})

const homes = command(
  'homes',
  fc.record({ owner: any.owners, forMs: fc.constantFrom(0, 1_000, 60_000) }),
  async (world, { owner, forMs }) => {
    const { store, reference } = world
    // those that are heard are not bound to the store's clock
    if (!store.homes || store.homes.areHeard || !reference.homes) return
    await world.step(async ({ homes }) => homes?.holdHome(owner, forMs))
    await world.step(async ({ homes }) => homes?.live())
  },
)

const FILTERS = {
  status: any.statuses,
  active: fc.constant(true as const),
  tags: fc.constantFrom(['a'], ['b', 'a']),
  principal: any.principals,
  origin: fc.constant('https://a.test'),
  policyId: fc.constantFrom('default', 'other'),
  reason: fc.constantFrom('max_attempts', 'not_retryable', 'total_budget'),
  from: any.ids,
  to: any.ids,
  order: fc.constantFrom('rising' as const, 'falling' as const),
  cursor: any.ids,
}
/** Three parts at most: all of them together leave hardly a task to list. */
const filters = fc
  .tuple(fc.record(FILTERS), fc.shuffledSubarray(Object.keys(FILTERS) as (keyof typeof FILTERS)[], { maxLength: 3 }))
  .map(([all, names]): Partial<typeof all> => Object.fromEntries(names.map((name) => [name, all[name]])))

const look = command(
  'look',
  fc.record({
    target: any.targets,
    key: any.keys,
    of: fc.option(any.principals, { nil: undefined }),
    filter: filters,
    limit: fc.integer({ min: 1, max: 4 }),
  }),
  async (world, { target, key, of, filter, limit }) => {
    const taskId = targetOf(world, target)
    await world.both((store) => store.get(taskId))
    await world.both(async (store) => bytesOf(await store.body(taskId)))
    await world.both((store) => store.find(key, of))
    await world.both(async (store) => (await store.list({ ...filter, limit })).tasks)
    await world.both(async (store) => allAttempts(store, taskId, limit))
    await world.history(taskId)
  },
)

const bytesOf = (body: Uint8Array | undefined) => body && [...body]

async function allAttempts(store: TaskStore, taskId: string, limit: number): Promise<unknown[]> {
  const seen: unknown[] = []
  let cursor: string | undefined
  do {
    const page = await store.attempts(taskId, { limit, ...(cursor === undefined ? {} : { cursor }) })
    seen.push(...page.attempts)
    cursor = page.cursor
  } while (cursor !== undefined)
  return seen
}

const weighted = (weight: number, arbitrary: fc.Arbitrary<fc.AsyncCommand<object, World>>) =>
  Array.from({ length: weight }, () => arbitrary)

/** What is done most is here more than once: every kind is drawn as often as it stands here. */
const commandsOf = (
  claims: fc.Arbitrary<Claim>,
  more: readonly fc.Arbitrary<fc.AsyncCommand<object, World>>[] = [],
): fc.Arbitrary<Iterable<fc.AsyncCommand<object, World>>> =>
  fc.commands(
    [
      ...weighted(6, enqueue),
      ...weighted(9, turnOf(claims)),
      ...weighted(5, claimOnlyOf(claims)),
      ...weighted(6, pass),
      ...weighted(2, cancel),
      ...weighted(2, redrive),
      ...weighted(2, look),
      ...weighted(2, unpark),
      ...weighted(2, lift),
      due,
      pause,
      flush,
      told,
      purge,
      configure,
      homes,
      ...more,
    ],
    { maxCommands: 60, size: 'max' },
  )

export const commands: fc.Arbitrary<Iterable<fc.AsyncCommand<object, World>>> = commandsOf(any.claims)
/** For stores for everyone. */
export const commandsOfAll: fc.Arbitrary<Iterable<fc.AsyncCommand<object, World>>> = commandsOf(
  any.claimsOfAll,
  weighted(3, tell),
)
