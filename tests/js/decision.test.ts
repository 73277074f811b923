/** What a task takes along from one lease to the next, across the boundary. */

import { expect, test } from 'vitest'
import {
  adopt as adoptBy,
  Calls,
  type EndedAttempt,
  gateStatusOf,
  type Settled,
  settle as settleBy,
  UNTRIED,
} from '../../js/core/calls.ts'
import {
  FLAG_CREDENTIALED,
  FLAG_KEYED,
  FLAG_REPLAYABLE,
  MARK_UNANSWERED,
  NONE,
  OP_ADMIT,
  OP_GATES,
  OP_LANE,
  OP_POLL,
  OUTCOME_RELEASED,
  OUTCOME_RESPONSE,
} from '../../js/core/codes.ts'
import { instantiate } from '../../js/core/file.ts'

const engine = await instantiate()
const START = 1_700_000_000_000

/** A queue with one lane and the default policy, and what adopting and verdicts come down to here. */
const UNSAID = {
  unusable: false,
  partitioned: false,
  said: 0,
  asked: false,
  replayed: false,
  facts: 0,
  reason: undefined,
}

function setup() {
  const core = new Calls(engine, 3, 3, 10, 1000, 60_000, 7n)
  const policy = core.policy(new Float64Array(21).fill(Number.NaN))
  const lane = core.call(OP_LANE)
  const settled = (ended: EndedAttempt) => {
    const { why, ...next } = settleBy(core, ended)
    return { ...next, ...(why as Settled) }
  }
  const flags = FLAG_REPLAYABLE | FLAG_KEYED | FLAG_CREDENTIALED
  const never = { createdAt: START, expiresAt: Infinity, waitUntil: Infinity }
  const leased = { now: START, lane, policy, priority: 0, bytes: 10, flags, ...never, startedAt: Number.NaN }
  const adopt = (past: Partial<typeof UNTRIED> = {}) => adoptBy(core, { ...leased, ...UNTRIED, attempts: 2, ...past })
  const settle = (slot: number, outcome: number, status: number, serverDelayMs = Number.NaN) => {
    const none = { durationMs: Number.NaN, rateLimitMs: Number.NaN, delayMs: Number.NaN, ...UNSAID }
    return settled({ now: START, slot, outcome, status, serverDelayMs, ...none })
  }
  return { core, lane, adopt, settle, settled }
}

test('S9 a retry says how much of its delay is the server’s, and what the core wants back', () => {
  const { core, adopt, settle } = setup()
  const slot = adopt({ phase: 2 ** 31, previousDelayMs: 700, marks: 2 })
  const { curveMs, ...rest } = settle(slot, OUTCOME_RESPONSE, 502, 40_000)
  expect(rest).toEqual({
    kind: 'retry',
    reason: undefined,
    cause: undefined,
    number: 2,
    delayMs: 42_000,
    spreadMs: 2_000,
    authorize: false,
    phase: 2 ** 31,
    previousDelayMs: curveMs,
    marks: 2 + MARK_UNANSWERED,
    refunded: false,
    serverMs: 42_000,
    holdMs: 0,
    attempts: 2,
    dueAt: START + 42_000,
  })
  core.free()
})

test('an attempt given back before any failure has neither phase nor wait of a server', () => {
  const { core, adopt, settle } = setup()
  const settled = settle(adopt(), OUTCOME_RELEASED, 0)
  expect(settled).toMatchObject({
    kind: 'released',
    cause: 'lease',
    attempts: 1,
    delayMs: 0,
    phase: -1,
    marks: 0,
    refunded: true,
    serverMs: 0,
  })
  core.free()
})

test('S8 the second 401 parks, with the marks of both', () => {
  const { core, adopt, settle } = setup()
  const { kind, authorize, marks } = settle(adopt(), OUTCOME_RESPONSE, 401)
  expect([kind, authorize, marks]).toEqual(['released', true, 0b011])
  const second = settle(adopt({ refunds: 1, marks, phase: 0 }), OUTCOME_RESPONSE, 401, 6_000)
  const parked = { delayMs: 6_000, authorize: false, marks: 0b101, refunded: true, serverMs: 6_000, phase: 0 }
  expect(second).toMatchObject({ kind: 'parked', cause: 'unauthorized', dueAt: Number.NaN, ...parked })
  core.free()
})

test('an answer says what it asked of its lane, whatever held that before, and tells when the task may start', () => {
  const { core, lane, settled } = setup()
  const policy = core.policy(new Float64Array(21).fill(Number.NaN))
  const admit = () =>
    core.send(OP_ADMIT, START, lane, policy, 0, 1, FLAG_REPLAYABLE, START, Infinity, Infinity, NONE, START)
  const end = (slot: number, serverDelayMs: number) => {
    const ended = { now: START, slot, outcome: OUTCOME_RESPONSE, status: 503, serverDelayMs }
    return settled({ ...ended, durationMs: 5, rateLimitMs: Number.NaN, delayMs: Number.NaN, ...UNSAID })
  }
  const first = end(admit(), 20_000)
  expect(first).toMatchObject({ kind: 'retry', holdMs: 20_000, attempts: 1, dueAt: START + first.delayMs })
  expect(end(admit(), 10_000).holdMs).toBe(10_000)
  expect(end(admit(), 30_000).holdMs).toBe(30_000)
  core.free()
})

test('the gates of a breaker have their names: open until when, then the one attempt that tries', () => {
  const { core, lane, settle } = setup()
  core.send(OP_GATES, 1, 0, 60_000, 60_000, 0, 0, 0, 0, 0)
  const policy = core.policy(new Float64Array(21).fill(Number.NaN))
  const flags = FLAG_REPLAYABLE | FLAG_KEYED
  const admit = (now: number) =>
    core.send(OP_ADMIT, now, lane, policy, 0, 10, flags, now, Infinity, Infinity, NONE, Number.NaN)
  const failed = admit(START)
  core.call(OP_POLL, START)
  settle(failed, OUTCOME_RESPONSE, 503)
  const held = admit(START)
  const open = gateStatusOf(core, held, 0)
  expect(open).toMatchObject({ gate: 'circuit-open', ahead: 0 })
  expect(open?.until).toBeGreaterThanOrEqual(START + 45_000)
  expect(open?.until).toBeLessThan(START + 75_000)
  core.call(OP_POLL, open?.until ?? 0)
  const gates = [failed, held].map((slot) => gateStatusOf(core, slot, 0)?.gate)
  expect(gates.sort()).toEqual(['circuit-probing', 'in-flight'])
  core.free()
})
