// Small pools, so that keys meet, lanes fill, orders form and time runs out.
import fc from 'fast-check'
import type { Bound, Claim, DeadlineReason, NewTask, OriginLimit, Pause, Settlement } from '../../../js/api/store.ts'
import { laneName, RECORD_SCHEMA, schemaOf } from '../../../js/api/store.ts'
import type { TaskStatus } from '../../../js/api/task.ts'
import { idOf, logOf } from './kit.ts'

const often = <T>(usual: T, ...others: readonly T[]): fc.Arbitrary<T> =>
  fc.oneof(
    { weight: 3 * others.length, arbitrary: fc.constant(usual) },
    { weight: others.length, arbitrary: fc.constantFrom(usual, ...others) },
  )

export const ids = fc.integer({ min: 1, max: 40 }).map(idOf)
export const keys = fc.integer({ min: 0, max: 15 }).map((n) => `k${n}`)
export const principals = often<string | null>(null, 'ann')
const origins = fc.constantFrom('https://a.test', 'https://b.test', 'https://c.test')
export const lanes = fc.tuple(principals, origins).map(([principal, origin]) => laneName(principal, origin))
export const holds = fc.record({ lane: lanes, forMs: fc.constantFrom(0, 500, 5_000) })
export const owners = fc.constantFrom('one', 'two', 'home')
export const statuses = fc.constantFrom<TaskStatus>('PENDING', 'IN_FLIGHT', 'SUCCEEDED', 'EXHAUSTED', 'CANCELLED')
const shortMs = fc.constantFrom(0, 0, 1, 500, 1_000, 5_000)

const deadlines = fc.record({
  deadlineInMs: often(Number.POSITIVE_INFINITY, 0, 500, 5_000, 60_000),
  deadlineReason: fc.constantFrom<DeadlineReason>('total_budget', 'expired', 'key_expired'),
})

export const policies = fc
  .record({
    policyId: fc.constantFrom('default', 'other'),
    maxAttempts: fc.integer({ min: 1, max: 3 }),
    totalBudgetMs: fc.constantFrom(2_000, 100_000),
    keyTtlMs: fc.constantFrom(5_000, 100_000),
  })
  .map((policy) => ({ ...policy, totalBudgetMs: Math.min(policy.totalBudgetMs, policy.keyTtlMs) }))

export const tasks: fc.Arbitrary<NewTask> = fc
  .record({
    taskId: ids,
    idempotencyKey: fc.option(keys),
    fingerprint: often('print', 'other'),
    method: often('POST', 'PUT'),
    origin: origins,
    principal: principals,
    policy: policies,
    deadline: deadlines,
    dueInMs: shortMs,
    serverMs: often(0, 1_000),
    ageMs: often(0, 3_000),
    attemptNumber: often(0, 1, 2),
    priority: often(0, 1, -1),
    orderKey: often<string | undefined>(undefined, 'o1', 'o2'),
    home: often<string | null>(null, 'home', 'needs sign'),
    needs: often<readonly string[] | undefined>(undefined, ['sign']),
    idempotent: often(false, true),
    meta: often<NewTask['meta']>(undefined, { order: 1, of: [{ who: 'ann' }] }),
    tags: often<NewTask['tags']>(undefined, ['a'], ['a', 'b']),
    senderData: often<NewTask['senderData']>(undefined, { to: 'ann', at: [1, { x: null }] }),
    tells: fc.boolean(),
    isLater: fc.oneof({ weight: 40, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
    size: often(0, 3, 9),
  })
  .map(({ origin, deadline, size, orderKey, idempotent, meta, tags, needs, senderData, tells, isLater, ...rest }) => ({
    ...rest,
    ...deadline,
    targetUrl: `${origin}/orders?n=1`,
    headers: { 'content-type': 'text/plain' },
    withheldHeaders: [],
    requestInit: {},
    lane: laneName(rest.principal, origin),
    phase: -1,
    previousDelayMs: 0,
    ...(size > 0 ? { body: new Uint8Array(size).fill(size) } : {}),
    ...(orderKey === undefined ? {} : { orderKey }),
    ...(idempotent ? { idempotent } : {}),
    ...(meta ? { meta } : {}),
    ...(tags ? { tags } : {}),
    ...(needs ? { needs } : {}),
    ...(senderData ? { senderData } : {}),
    ...(tells ? { tells } : {}),
    schema: isLater ? RECORD_SCHEMA + 1 : schemaOf({ ...(senderData && { senderData }), ...(tells && { tells }) }),
    ...(rest.attemptNumber > 0 ? { log: [logOf(rest.taskId)] } : {}),
  }))

/** Tasks of calls to one server that were told to wait, and the time until the next: its lane has nothing else. */
export const told = fc.array(
  fc
    .record({ task: tasks, holdLaneForMs: often(40_000, 500, 0), passMs: often(25_000, 400, 1_000) })
    .map(({ task, holdLaneForMs, passMs }) => {
      const origin = 'https://held.test'
      const lane = laneName(task.principal, origin)
      return { task: { ...task, targetUrl: `${origin}/`, lane, holdLaneForMs }, passMs }
    }),
  { minLength: 2, maxLength: 5 },
)

export const enqueueLeases = fc.option(
  fc.record(
    {
      owner: owners,
      leaseMs: fc.constantFrom(1_000, 30_000),
      total: fc.integer({ min: 1, max: 6 }),
      perLane: fc.integer({ min: 1, max: 3 }),
    },
    { requiredKeys: ['owner', 'leaseMs'] },
  ),
  { nil: undefined },
)

const carries = fc.record({
  phase: fc.constantFrom(0, 9),
  previousDelayMs: fc.constantFrom(1, 2),
  marks: fc.constantFrom(0, 3),
})

export const nexts: fc.Arbitrary<Settlement['next']> = fc.oneof(
  { weight: 2, arbitrary: fc.constant({ kind: 'succeeded' } as const) },
  {
    weight: 3,
    arbitrary: fc.record(
      { kind: fc.constant('retry' as const), delayMs: shortMs, serverMs: fc.constantFrom(0, 1_000), carry: carries },
      { requiredKeys: ['kind', 'delayMs'] },
    ),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('exhausted' as const),
      reason: fc.constantFrom('not_retryable' as const, 'vetoed' as const),
    }),
  },
  {
    weight: 2,
    arbitrary: fc
      .record(
        {
          kind: fc.constant('release' as const),
          delayMs: shortMs,
          refund: fc.boolean(),
          serverMs: fc.constantFrom(0, 2_000),
          carry: carries,
          park: fc.boolean(),
        },
        { requiredKeys: ['kind', 'delayMs', 'refund', 'park'] },
      )
      .map((next) => ({ ...next, ...(next.delayMs === 1_000 && { offline: true as const }) })),
  },
)

/** Which lease: the youngest but `back`, or one with a token that nobody was given. */
export const picks = fc.record({
  back: often(0, 1, 2, 3, 5, 9),
  madeUp: fc.constantFrom(false, false, false, false, true),
})
/** Which task: that of a lease, or any. */
export const targets = fc.oneof(picks, ids)

export const settlements = fc.record({
  pick: picks,
  next: nexts,
  holdLaneForMs: often(0, 500, 4_000),
  sent: often(true, false),
  status: often(503, 200),
})

const limitedOf = (names: fc.Arbitrary<string>) =>
  fc.array(fc.record({ lane: names, max: fc.integer({ min: 0, max: 2 }) }), { maxLength: 3 })
const unique = (list: readonly { readonly lane: string; readonly max: number }[]) =>
  list.filter(({ lane }, i) => list.findIndex((each) => each.lane === lane) === i)

/** Which of a lane's tasks come first: now and then those with the fewest attempts, or no others. */
const wish = often<Pick<Bound, 'leastTried' | 'untried'>>({}, {}, {}, { leastTried: true }, { untried: true })

const boundsOf = (names: fc.Arbitrary<string>) =>
  fc
    .tuple(limitedOf(names).map(unique), fc.array(wish, { minLength: 3, maxLength: 3 }))
    .map(([list, wishes]) => list.map((bound, i): Bound => ({ ...bound, ...wishes[i] })))

const claimsOf = (bounded: fc.Arbitrary<string>): fc.Arbitrary<Claim> =>
  fc
    .record({
      limit: often(4, 0, 1, 2),
      leaseMs: fc.constantFrom(1_000, 30_000),
      total: often(9, 1, 2, 3),
      perLane: often(9, 1, 2),
      lanes: fc.oneof(
        { weight: 4, arbitrary: fc.constant('any' as const) },
        { weight: 1, arbitrary: limitedOf(lanes).map(unique) },
      ),
      bounds: fc.option(boundsOf(bounded), { nil: undefined }),
      otherMax: often<number | undefined>(undefined, 1, 2),
      principal: principals,
      skipHomes: often<readonly string[]>([], ['home']),
      supplied: often<readonly string[] | undefined>(undefined, [], ['needs sign']),
      ownHomeOnly: often(false, true),
    })
    .map(({ bounds, otherMax, supplied, ownHomeOnly, ...claim }) => ({
      ...claim,
      ...(supplied ? { supplied } : {}),
      ...(bounds ? { bounds } : {}),
      ...(otherMax ? { otherMax } : {}),
      ...(ownHomeOnly ? { ownHomeOnly } : {}),
    }))

export const claims: fc.Arbitrary<Claim> = claimsOf(lanes)
const limits: fc.Arbitrary<readonly OriginLimit[]> = fc.uniqueArray(
  fc
    .record({
      origins: fc.constantFrom('https://a.test', 'https://b.test', 'https://*.test'),
      perSecond: often<number | undefined>(undefined, 1, 3, 1_000),
      burst: fc.constantFrom(1, 2, 3),
      concurrency: often<number | undefined>(undefined, 1, 2),
      sharedBy: fc.constantFrom('lane' as const, 'origin' as const),
    })
    .map(({ perSecond, concurrency, ...limit }) => ({
      ...limit,
      ...(perSecond && { perSecond }),
      ...(concurrency && { concurrency }),
    })),
  { selector: ({ origins }) => origins, minLength: 1, maxLength: 3 },
)

/** Of a store for everyone. */
export const claimsOfAll: fc.Arbitrary<Claim> = fc
  .tuple(
    claimsOf(origins),
    fc.option(limits, { nil: undefined }),
    often<number | undefined>(undefined, 1, 2, 3),
    often<number | undefined>(undefined, 1, 2),
  )
  .map(([claim, limits, perPrincipal, perFree]) => ({
    ...claim,
    ...(limits && { limits }),
    ...(perPrincipal && { perPrincipal }),
    ...(perFree && { perFree }),
  }))

export const pauseIds = fc.constantFrom('p', 'q')
export const pauses: fc.Arbitrary<Pause> = fc.record(
  { id: pauseIds, at: fc.constant(0), origin: origins, principal: principals },
  { requiredKeys: ['id', 'at'] },
)

const quotas = fc.record(
  { capacity: fc.integer({ min: 0, max: 5 }), capacityBytes: fc.constantFrom(0, 3, 12, 30) },
  { requiredKeys: [] },
)

export const terms = fc.record({
  quotas: fc.option(
    fc.tuple(fc.option(quotas, { nil: undefined }), quotas).map(([ofNone, ofAnn]) => ({ ofNone, ofAnn })),
    { nil: undefined },
  ),
  capacity: fc.integer({ min: 1, max: 12 }),
  capacityBytes: fc.constantFrom(10, 1_000),
  maxLaneHoldMs: fc.constantFrom(0, 1_000, 5_000, 60_000),
  retention: fc.record({
    terminalMs: fc.constantFrom(0, 1_000, 100_000),
    maxTerminal: fc.integer({ min: 0, max: 5 }),
    deadLetterMs: fc.constantFrom(0, 5_000, 100_000),
    maxDeadLetters: fc.integer({ min: 0, max: 5 }),
  }),
})

/** Forward mostly; a little back, which counts for nothing; far back, which is a step. */
export const passes = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(1, 499, 500, 1_000, 5_000, 30_000) },
  { weight: 1, arbitrary: fc.constantFrom(100_000, 3_600_000) },
  { weight: 1, arbitrary: fc.constantFrom(-1, -700, -60_000) },
  { weight: 1, arbitrary: fc.constantFrom(-60_001, -90_000, -3_600_000) },
)
