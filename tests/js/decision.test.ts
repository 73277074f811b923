/** What a task takes along from one lease to the next, across the boundary. */

import { expect, test } from 'vitest'
import { FLAG, VERDICT } from '../../js/core/codes.ts'
import { chosen, standingOf } from '../../js/core/decode.ts'
import { instantiate } from '../../js/core/inline.ts'
import { NONE } from '../../js/core/none.ts'

const engine = await instantiate()
const START = 1_700_000_000_000
const OUTCOME = { response: 0, released: 6 }

/** A queue with one lane and the default policy, and what adopting and settling come down to here. */
function setup() {
  const core = new engine.glue.CoreQueue(3, 3, 10, 1000, 7n)
  const policy = core.policy(new Float64Array(20).fill(Number.NaN))
  const lane = core.lane()
  const flags = FLAG.replayable | FLAG.hasKey | FLAG.hasResolver
  const adopt = ({ attempts = 2, refunds = 0, phase = -1, previousDelayMs = 0, marks = 0 } = {}) => {
    const times = [START, Infinity, Infinity, Infinity] as const
    const past = [attempts, refunds, phase, previousDelayMs, marks] as const
    return core.adopt(START, lane, policy, 0, 10, flags, ...times, ...past, false)
  }
  const settle = (slot: number, outcome: number, status: number, serverMs = Number.NaN) =>
    core.settle(START, slot, outcome, status, serverMs, Number.NaN, Number.NaN, false)
  return { core, lane, adopt, settle }
}

test('S9 a retry says how much of its delay is the server’s, and what the core wants back', () => {
  const { core, adopt, settle } = setup()
  const slot = adopt({ phase: 2 ** 31, previousDelayMs: 700, marks: 2 })
  expect(settle(slot, OUTCOME.response, 502, 40_000)).toBe(VERDICT.retry)
  const { curveMs, ...rest } = chosen(engine, core)
  expect(rest).toEqual({
    delayMs: 42_000,
    spreadMs: 2_000,
    authorize: false,
    phase: 2 ** 31,
    previousDelayMs: curveMs,
    marks: 2,
    refunded: false,
    serverMs: 42_000,
  })
  core.free()
})

test('an attempt given back before any failure has neither phase nor wait of a server', () => {
  const { core, adopt, settle } = setup()
  expect(settle(adopt(), OUTCOME.released, 0)).toBe(VERDICT.retry)
  expect(chosen(engine, core)).toMatchObject({ delayMs: 0, phase: -1, marks: 0, refunded: true, serverMs: 0 })
  core.free()
})

test('S8 the second 401 parks, with the marks of both', () => {
  const { core, adopt, settle } = setup()
  expect(settle(adopt(), OUTCOME.response, 401)).toBe(VERDICT.retry)
  const { authorize, marks } = chosen(engine, core)
  expect([authorize, marks]).toEqual([true, 0b011])
  expect(settle(adopt({ refunds: 1, marks, phase: 0 }), OUTCOME.response, 401, 6_000)).toBe(VERDICT.parked)
  const parked = { delayMs: 6_000, authorize: false, marks: 0b101, refunded: true, serverMs: 6_000, phase: 0 }
  expect(chosen(engine, core)).toMatchObject(parked)
  core.free()
})

test('S7 a leased task counts in flight and not in the depth, and leaves a place less', () => {
  const { core, lane, adopt, settle } = setup()
  const slot = adopt()
  expect([core.inFlight(), core.depth(), core.room(START, lane), core.vacancies()]).toEqual([1, 0, 2, 2])
  settle(slot, OUTCOME.response, 200)
  expect([core.inFlight(), core.depth(), core.room(START, lane), core.vacancies()]).toEqual([0, 0, 3, 3])
  core.free()
})

test('S9 a hold of a lane leaves no room there until it ends; no number is no hold', () => {
  const { core, lane } = setup()
  core.hold(START, lane, Number.NaN)
  expect(core.room(START, lane)).toBe(3)
  core.hold(START, lane, 500)
  expect([core.room(START + 499, lane), core.room(START + 500, lane), core.heldUntil(lane, START)]).toEqual([
    0,
    3,
    START + 500,
  ])
  core.free()
})

test('a lane that is not there takes no lease', () => {
  const { core } = setup()
  const [never, none] = [Infinity, 0]
  const slot = core.adopt(START, NONE, 0, 0, 0, 1, START, never, never, never, 1, none, -1, none, none, false)
  expect(slot).toBe(NONE)
  core.free()
})

test('the gates of a breaker have their names: open until when, then the one attempt that tries', () => {
  const { core, lane } = setup()
  core.gates(new Float64Array([1, 0.5, 20, 60_000, 60_000, 60_000, 1, 0, Number.NaN, 0, 0, 0]))
  const policy = core.policy(new Float64Array(20).fill(Number.NaN))
  const flags = FLAG.replayable | FLAG.hasKey
  const admit = (now: number) => core.admit(now, lane, policy, 0, 10, flags, now, Infinity, Infinity, NONE, false)
  const failed = admit(START)
  core.poll(START)
  core.settle(START, failed, OUTCOME.response, 503, Number.NaN, 5, Number.NaN, false)
  const held = admit(START)
  const open = standingOf(engine, core, held)
  expect(open).toMatchObject({ gate: 'circuit-open', ahead: 0 })
  expect(open?.until).toBeGreaterThanOrEqual(START + 45_000)
  expect(open?.until).toBeLessThan(START + 75_000)
  core.poll(open?.until ?? 0)
  const gates = [failed, held].map((slot) => standingOf(engine, core, slot)?.gate)
  expect(gates.sort()).toEqual(['circuit-probing', 'in-flight'])
  core.free()
})
