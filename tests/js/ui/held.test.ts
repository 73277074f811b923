/** What holds a task or an origin, in words: the gate is the queue's, as `explain` names it. */

import { describe, expect, test } from 'vitest'
import type { Gate } from '../../../js/api/task.ts'
import { eventOf, laneOf, nextOf } from '../../../js/ui/inspector/held.ts'
import type { InspectorOrigin } from '../../../js/ui/inspector/source.ts'
import { taskOf } from './inspector-setup.ts'

const lane = (more: Partial<InspectorOrigin> = {}): InspectorOrigin => ({
  origin: 'https://api.test',
  pending: 3,
  inFlight: 0,
  circuit: 'CLOSED',
  heldUntilAt: null,
  retryBudget: null,
  ...more,
})
const gate = (gate: Gate, gateUntilAt: number | null = null) => ({ gate, gateUntilAt })

describe('a due task', () => {
  test.each([
    ['circuit-open', 4_000, 'held by the open circuit, next probe in 4s'],
    ['circuit-probing', null, 'held by the half-open circuit, until its probe ends'],
    ['lane-held', 60_000, 'held by Retry-After, ends in 1m'],
    ['rate', 1_200, 'held by the rate limit, next attempt in 2s'],
    ['lane-limit', null, 'held by the concurrency limit of its origin, until an attempt ends'],
    ['limit', null, 'held by the concurrency limit, until an attempt ends'],
    ['lane-paused', null, 'paused, until its origin is resumed'],
    ['paused', null, 'paused, until resumed'],
    ['offline', 9_000, 'held: offline, next probe in 9s'],
    ['offline', null, 'held: offline, until the network is back'],
    ['retry-budget', 3_000, 'held by the spent retry budget, next retry in 3s'],
    ['ramp', 3_000, 'held by the ramp after failures, next attempt in 3s'],
    ['ready', null, 'due'],
  ] as const)('at %s until %s', (name, until, words) => {
    expect(nextOf(taskOf(1, { nextAttemptAt: 0 }), gate(name, until), 0)).toBe(words)
    expect(eventOf(lane({ ...gate(name, until), nextAttemptAt: 0 }), 0)).toBe(
      words === 'due' ? 'next attempt is due' : words,
    )
  })

  test('whose origin has no gate is due, and one that has ended is next to nothing', () => {
    expect(nextOf(taskOf(1, { nextAttemptAt: 0 }), lane(), 5)).toBe('due')
    expect(nextOf(taskOf(1, { status: 'SUCCEEDED' }), gate('circuit-open', 9_000), 0)).toBe('')
  })
})

test.each([
  ['parked', 'parked, until its credentials are there and it is resumed'],
  ['behind', 'held by its order, behind others'],
  ['principal', 'held, until its principal is current'],
  ['needs', 'held, until a queue has the options that it needs'],
  ['a-gate-of-a-later-version', 'a-gate-of-a-later-version'],
] as const)('a task that waits for no time, at %s', (name, words) => {
  expect(nextOf({ ...taskOf(1), gate: name as Gate }, gate('circuit-open', 4_000), 0)).toBe(words)
})

test('a gate that opens before the own delay of a task is over holds it no longer', () => {
  const task = taskOf(1, { nextAttemptAt: 4_000 })
  expect(nextOf(task, gate('circuit-open', 3_999), 0)).toBe('in 4s')
  expect(nextOf(task, gate('circuit-open', 4_001), 0)).toBe('held by the open circuit, next probe in 5s')
  expect(nextOf({ ...task, ...gate('due', 4_000) }, undefined, 0)).toBe('in 4s')
  expect(eventOf(lane({ ...gate('circuit-open', 3_999), nextAttemptAt: 4_000 }), 0)).toBe('next attempt in 4s')
})

test('an origin without a gate says what comes next, or that nothing does', () => {
  expect(eventOf(lane({ nextAttemptAt: 2_000 }), 0)).toBe('next attempt in 2s')
  expect(eventOf(lane({ pending: 0 }), 0)).toBe('nothing waits')
  expect(eventOf(lane({ pending: 0, inFlight: 1 }), 0)).toBe('attempt under way')
  expect(eventOf(lane({ paused: true, ...gate('circuit-open', 4_000) }), 0)).toBe('paused, until its origin is resumed')
})

test('the lane of a task is that of its origin, and of its tenant where there are tenants', () => {
  const [one, other] = [lane({ tenant: 'acme' }), lane({ tenant: null })]
  expect(laneOf(taskOf(1), [one, other])).toBe(other)
  expect(laneOf(taskOf(1, { principal: 'acme' }), [one, other])).toBe(one)
  expect(laneOf(taskOf(1, { targetUrl: 'https://api.test.evil/x' }), [lane()])).toBeUndefined()
})
