/** Tokens beside a naive log of leases, in runs that fast-check makes up: in any window, by a clock that falls, over two handles. */

import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { OriginLimit } from '../../../js/api/store.ts'
import { limitsIn } from '../../../js/stores/engine/limits.ts'
import { timeOfStep } from '../../../js/stores/engine/rules.ts'
import { fakeClock } from '../../../js/testing/clock.ts'
import { bySize } from '../../size.ts'
import { ann, annElsewhere, bob, claimOf, newTask, type Open, SUCCEEDED, settlementOf, times } from './kit.ts'
import type { Pair } from './registry.ts'

/** Moments of leases by a clock that never falls, and what was true of it. */
interface Log {
  readonly at: number[]
}

/** Whether one more may be given at `now`, by all that were given: for each of them the window that begins with it. */
function mayGive(log: readonly number[], now: number, burst: number, intervalMs: number): boolean {
  return log.every((from, i) => log.length - i + 1 <= burst + (now - from) / intervalMs)
}

const runs = Number(globalThis.process?.env.REDRIVE_RUNS ?? bySize(16, 60))

/** Tokens beside a naive log of leases. */
export function windowRules(open: Open, pair?: Pair): void {
  const steps = fc.array(
    fc.oneof(
      { weight: 5, arbitrary: fc.record({ pass: fc.constantFrom(1, 10, 49, 50, 99, 100, 333, 334, 1_000, 5_000) }) },
      { weight: 1, arbitrary: fc.record({ pass: fc.constantFrom(-1, -500, -60_000, -60_001, -3_600_000) }) },
      {
        weight: 8,
        arbitrary: fc.record({ claim: fc.integer({ min: 1, max: 6 }), by: fc.boolean(), settles: fc.boolean() }),
      },
      { weight: 1, arbitrary: fc.record({ purge: fc.constant(true) }) },
    ),
    { minLength: 10, maxLength: 40 },
  )
  const rates = fc.record({
    perSecond: fc.constantFrom(0.2, 1, 3, 10, 64, 1_000, 7_000),
    burst: fc.constantFrom(1, 2, 5),
    sharedBy: fc.constantFrom('lane' as const, 'origin' as const),
  })

  test('S7 in any window no more leases than its burst and its tokens, and whenever one more may be given it is', {
    timeout: 30_000 + runs * 1_000,
  }, async () => {
    const property = fc.asyncProperty(rates, steps, async (rate, wanted) => {
      const clock = fakeClock()
      const stores = pair ? await pair({ clock }) : ([await open({ clock })] as const)
      const [first, second = first] = stores
      const limits: OriginLimit[] = [{ origins: 'https://*.test', ...rate }]
      const { intervalMs = 0 } = limitsIn(limits).get('https://*.test')?.rate ?? {}
      expect(intervalMs).toBeGreaterThanOrEqual(1_000 / rate.perSecond)
      const logs = new Map<string, Log>()
      const nameOf = (lane: string) => (rate.sharedBy === 'lane' ? lane : (lane.split(' ')[0] as string))
      let [high, count] = [Number.NEGATIVE_INFINITY, 0]
      // what the store sees of the clock: where that has fallen, all instants fall alike
      const see = () => {
        const { now, shiftMs } = timeOfStep(clock.now(), high)
        for (const [name, { at }] of logs) logs.set(name, { at: at.map((each) => each + shiftMs) })
        high = now
      }
      const fill = async (each = 8) => {
        see()
        const tasks = [ann, bob, annElsewhere].flatMap((whose) =>
          times(each, whose).map((each) => newTask(++count, { ...each, idempotencyKey: null, method: 'PUT' })),
        )
        await first.enqueue(tasks)
      }
      try {
        await fill()
        for (const step of wanted) {
          if ('pass' in step) {
            // the latest time is in the store, and not only with the handle that has seen it
            if (step.pass < 0) await fill(1)
            clock.step(step.pass)
          } else if ('purge' in step) {
            see()
            await first.purgeAll()
            await fill()
          } else {
            const claim = claimOf({ limits, limit: step.claim, leaseMs: 3_600_000 })
            see()
            const turn = await (step.by ? first : second).turn({ owner: 'r', settle: [], renew: [], claim })
            expect(turn.now).toBe(high)
            for (const { task } of turn.claimed) {
              const log = logs.get(nameOf(task.lane)) ?? { at: [] }
              logs.set(nameOf(task.lane), log)
              expect(mayGive(log.at, turn.now, rate.burst, intervalMs), 'no window has too many').toBe(true)
              log.at.push(turn.now)
            }
            if (turn.claimed.length < step.claim) {
              const due = (await first.list({ status: 'PENDING', limit: 1_000 })).tasks
              const left = due.filter(({ lane }) =>
                mayGive(logs.get(nameOf(lane))?.at ?? [], turn.now, rate.burst, intervalMs),
              )
              expect(
                left.map(({ lane }) => lane),
                'what may start has started',
              ).toEqual([])
              // and the next look is at the moment of the first token
              if (due.length > 0) {
                const wait = turn.nextInMs as number
                const opens = (ms: number) =>
                  due.some(({ lane }) =>
                    mayGive(logs.get(nameOf(lane))?.at ?? [], turn.now + ms, rate.burst, intervalMs),
                  )
                expect([opens(wait), opens(wait - 1)], `a token in ${wait} ms`).toEqual([true, false])
              }
            }
            if (step.settles) {
              const settle = turn.claimed.map(({ lease }) => settlementOf(lease, SUCCEEDED))
              await second.turn({ owner: 'r', settle, renew: [], claim: null })
            }
          }
        }
      } finally {
        await Promise.all(stores.map((store) => store.close()))
      }
    })
    await fc.assert(property, { numRuns: runs })
  })
}
