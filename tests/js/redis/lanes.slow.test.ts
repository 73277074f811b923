// Where a lane waits is the subtlest part of the scripts: a thousand lanes, beside the reference, which looks at every task. In lines of
// principals, and in one for everyone; scopes are paused now and then. The server compares texts by a language, if this machine has one.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  type Lease,
  laneName,
  type OriginLimit,
  type Pause,
  type Settlement,
  type Step,
  SWEEP,
  type TaskStore,
  type Turn,
} from '../../../js/api/store.ts'
import { memoryStore } from '../../../js/stores/memory.ts'
import { redisStore } from '../../../js/stores/redis.ts'
import { fakeClock } from '../../../js/testing/clock.ts'
import { languageLocale } from '../../redis/language-locale.ts'
import { SyncPort, syncConnection } from '../../redis/sync-port.ts'
import { claimOf, newTask, releaseIn, retryIn, SUCCEEDED, settlementOf } from '../store-contract/kit.ts'
import { asFarAsAsked } from '../store-contract/world.ts'

const LANES = 1_000
const STEPS = 60
const RUNS = Number(process.env.REDRIVE_RUNS ?? 4)
const LOCALE = languageLocale()
const PRINCIPALS = [null, 'ann', 'bob']

interface Line {
  readonly everyone: boolean
  /** The origin and the principal of the n-th lane. Those for everyone have few origins, and a bound is of many lanes. */
  placeOf(lane: number): { readonly origin: string; readonly principal: string | null }
}

const LINES: readonly Line[] = [
  { everyone: false, placeOf: (lane) => ({ origin: `https://${lane}.test`, principal: null }) },
  {
    everyone: true,
    placeOf: (lane) => ({
      origin: `https://${lane % 7}.test`,
      principal: lane % 5 === 0 ? (PRINCIPALS[lane % 3] ?? null) : `p${lane % 150}`,
    }),
  },
]

const pauses = fc.record({
  id: fc.constantFrom('p', 'q'),
  lift: fc.constantFrom(true, true, false),
  lane: fc.nat(9),
  of: fc.constantFrom('origin', 'principal', 'lane', 'all'),
})

const tasks = fc.array(
  fc.record({
    lane: fc.oneof(fc.nat(LANES - 1), fc.nat(5)),
    priority: fc.constantFrom(0, 0, 0, 1, -1),
    dueInMs: fc.constantFrom(0, 0, 0, 5, 1_000, 20_000),
    home: fc.constantFrom(null, null, null, 'home', 'needs sign'),
    orderKey: fc.constantFrom(undefined, undefined, undefined, 'one', 'two'),
    holdLaneForMs: fc.constantFrom(0, 0, 0, 3_000),
  }),
  { minLength: 40, maxLength: 120, size: 'max' },
)
const ends = fc.array(fc.constantFrom('done', 'again', 'later', 'back', 'hold'), { minLength: 64, maxLength: 64 })
const claims = fc.record({
  limit: fc.constantFrom(0, 1, 16, 64),
  total: fc.constantFrom(1_000, 40),
  perLane: fc.constantFrom(1, 2, 100),
  bounds: fc.array(fc.record({ lane: fc.nat(5), max: fc.nat(2), leastTried: fc.boolean() }), { maxLength: 3 }),
  otherMax: fc.constantFrom(undefined, undefined, 1),
  skipHomes: fc.constantFrom([], ['home']),
  supplied: fc.constantFrom(undefined, []),
  pause: fc.option(pauses, { freq: 3 }),
})
/** Of claims for everyone; those with limits have no other bounds than shut ones, which say how much one claim may take. */
const limits = fc.record({
  limits: fc.constantFrom<readonly OriginLimit[]>(
    [],
    [{ origins: 'https://*.test', perSecond: 2, burst: 3, sharedBy: 'origin' }],
    [{ origins: 'https://*.test', concurrency: 3, sharedBy: 'origin' }],
    [
      { origins: 'https://1.test', perSecond: 0.5 },
      { origins: 'https://2.test', perSecond: 1, sharedBy: 'origin' },
      { origins: 'https://*.test', concurrency: 1 },
    ],
  ),
  perPrincipal: fc.constantFrom(undefined, 1, 2),
  perFree: fc.constantFrom(undefined, 1, 4),
})
const steps = fc.array(
  fc.record({ tasks, ends, claim: claims, limits: fc.option(limits), passMs: fc.constantFrom(0, 1, 500, 5_000) }),
  {
    minLength: STEPS,
    maxLength: STEPS,
    size: 'max',
  },
)

function endOf(lease: Lease, end: string): Settlement {
  if (end === 'done') return settlementOf(lease, SUCCEEDED)
  if (end === 'again') return settlementOf(lease, retryIn(0))
  if (end === 'later') return settlementOf(lease, retryIn(2_000))
  if (end === 'back') return settlementOf(lease, releaseIn(300))
  return settlementOf(lease, retryIn(0), { holdLaneForMs: 1_500 })
}

/** Of more than 64 lanes a store chooses which it shows. */
const comparable = ({ lanes: _, claimed, ...turn }: Turn) => ({
  ...turn,
  claimed: claimed.map(({ task, lease }) => [task.lane, lease]),
})

/** A turn that has put many lanes apart leaves the rest of its line to the next, at once: they are one claim. */
async function wholeTurn(store: TaskStore, step: Step): Promise<Turn> {
  let turn = await store.turn(step)
  const { claim } = step
  if (!claim?.limits && !claim?.perPrincipal && !claim?.perFree) return turn
  for (let i = 0; turn.nextInMs === 0 && turn.claimed.length < claim.limit; i++) {
    expect(i, 'a claim that goes on comes to an end').toBeLessThan(20)
    const limit = claim.limit - turn.claimed.length
    const next = await store.turn({ ...step, settle: [], claim: { ...claim, limit } })
    const { settled, ended, claimed } = turn
    turn = { ...next, settled, ended: [...ended, ...next.ended], claimed: [...claimed, ...next.claimed] }
  }
  return turn
}

function pauseOf({ placeOf }: Line, { id, lane, of }: { id: string; lane: number; of: string }): Pause {
  const { origin, principal } = placeOf(lane)
  return {
    id,
    at: 0,
    ...((of === 'origin' || of === 'lane') && { origin }),
    ...((of === 'principal' || of === 'lane') && { principal }),
  }
}

/** Says which origins have another number of places in line than their hash has, and what that has. */
const MISCOUNTED = `#!lua flags=no-writes
local counted, said = {}, {}
for _, member in ipairs(redis.call('ZRANGEBYLEX', KEYS[1], '[\\2', '(\\3')) do
  local origin = string.match(member, '^[^%z]*', 2)
  counted[origin] = (counted[origin] or 0) + 1
end
local kept = redis.call('HGETALL', KEYS[2])
for i = 1, #kept, 2 do
  if counted[kept[i]] ~= tonumber(kept[i + 1]) then said[#said + 1] = kept[i] .. ' ' .. kept[i + 1] end
  counted[kept[i]] = nil
end
for origin, count in pairs(counted) do said[#said + 1] = origin .. ' 0 of ' .. count end
return table.concat(said, ', ')`

test.each(LINES)(
  'L4 S7 a thousand lanes are claimed from in the order that the reference gives (everyone: $everyone)',
  { timeout: 600_000 },
  async (line) => {
    const { everyone, placeOf } = line
    const connection = await syncConnection(LOCALE)
    let worlds = 0
    const property = fc.asyncProperty(steps, async (all) => {
      const clock = fakeClock()
      const client = new SyncPort(connection)
      const name = `lanes-${everyone}-${++worlds}`
      const store = redisStore({ client, name, clock, capacity: 1e6, ...(everyone && { everyone }) })
      const reference = memoryStore({ clock, capacity: 1e6, ...(everyone && { everyone }) })
      const both = async <T>(act: (each: TaskStore) => Promise<T>): Promise<T> => {
        const wanted = await act(reference)
        expect(await act(store)).toEqual(wanted)
        return wanted
      }
      let count = 0
      let held: readonly Lease[] = []
      for (const { tasks: given, ends: outcomes, claim, limits, passMs } of all) {
        const batch = given.map(({ lane, orderKey, ...rest }) => {
          const { origin, principal } = placeOf(lane)
          const order = orderKey === undefined ? {} : { orderKey: `${orderKey} ${lane}` }
          return newTask(++count, { ...rest, ...order, origin, principal, lane: laneName(principal, origin) })
        })
        await both((each) => each.enqueue(batch))
        const { bounds, otherMax, supplied, pause, ...rest } = claim
        if (pause) {
          await both(async ({ pauses }) =>
            pause.lift ? void (await pauses?.lift(pause.id)) : pauses?.put(pauseOf(line, pause)),
          )
        }
        const isLimited = everyone && limits !== null
        const named = bounds
          .filter(({ lane }, i) => bounds.findIndex((other) => other.lane === lane) === i)
          .filter(({ max }) => !isLimited || max === 0)
        const asked = claimOf({
          ...rest,
          bounds: named.map(({ lane, max, leastTried }) => ({
            lane: placeOf(lane).origin,
            max,
            ...(leastTried && { leastTried: true as const }),
          })),
          ...(otherMax !== undefined && !isLimited && { otherMax }),
          ...(isLimited && { limits: limits.limits }),
          ...(isLimited && limits.perPrincipal && { perPrincipal: limits.perPrincipal }),
          ...(isLimited && limits.perFree && { perFree: limits.perFree }),
          ...(supplied && { supplied }),
        })
        const settle = held.map((lease, i) => endOf(lease, outcomes[i % outcomes.length] ?? 'done'))
        // a turn brings no more than `SWEEP` lanes into line whose moment has come: some more, so that all are
        for (let woken = 0; woken < LANES; woken += SWEEP) {
          await store.turn({ owner: 'ann', settle: [], renew: [], claim: { ...asked, limit: 0 } })
        }
        const step = { owner: 'ann', settle, renew: [], claim: asked }
        let leases: readonly Lease[] = []
        let wanted: Turn | undefined
        await both(async (each) => {
          const turn = await wholeTurn(each, step)
          leases = turn.claimed.map(({ lease }) => lease)
          wanted ??= turn
          return comparable(isLimited ? asFarAsAsked(turn, wanted, asked.total) : turn)
        })
        held = leases
        const keys = ['q', 's'].map((letter) => `{redrive:${name}}:${letter}`)
        expect(String(await client.call('EVAL', [MISCOUNTED, '2', ...keys]))).toBe('')
        clock.step(passMs)
      }
      await both((each) => each.counts())
      await store.close()
    })
    await fc.assert(property, {
      numRuns: RUNS,
      endOnFailure: true,
      ...(process.env.SEED && { seed: Number(process.env.SEED) }),
    })
  },
)

test.skipIf(!LOCALE)('the server of this test compares texts by a language, and not by their bytes', async () => {
  const connection = await syncConnection(LOCALE)
  const script = `return tostring('a' < 'B') .. tostring('_' < 'a') .. tostring('z' < 'é')`
  expect(`${connection.ask(['EVAL', script, '0'])}`).toBe('truetruefalse')
})
