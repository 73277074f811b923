// What a queue remembers of origins, users and reports is bounded, however many it meets: docs/gates.md says what is forgotten.
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { Emitter, reporter } from '../../js/api/emitter.ts'
import type { QueueEvents } from '../../js/api/events.ts'
import { Calls } from '../../js/core/calls.ts'
import { OP_HELD_UNTIL, OP_HOLD, OP_POLL, OP_ROOM } from '../../js/core/codes.ts'
import { instantiate } from '../../js/core/file.ts'
import type { QueueContext } from '../../js/runner/context.ts'
import { Lanes } from '../../js/runner/lanes.ts'
import { type CoreStats, heldStats } from '../../js/runner/stats.ts'
import { API, ORDERS, setup as startQueue } from './setup.ts'

const MANY = 100_000
const NOW = 1_800_000_000_000
const HELD_MS = 60_000
const PER_LANE = 3
const originOf = (i: number): string => `https://${i}.test`

const engine = await instantiate()

function setup() {
  const core = new Calls(engine, 10, PER_LANE, 100, 1_000, HELD_MS, 1n)
  onTestFinished(() => core.free())
  core.call(OP_POLL, NOW)
  const host = { principal: null, settings: {} } as QueueContext
  const lanes = new Lanes(core, host)
  const hold = (origin: string, now = NOW): number => {
    const lane = lanes.of(null, origin)
    core.call(OP_HOLD, now, lane, HELD_MS)
    return lane
  }
  return { core, host, lanes, hold, size: () => [...lanes.all()].length }
}

describe('reports that are made once', () => {
  test('a thousand are remembered: of an origin before those it is told once more', () => {
    const events = new Emitter<QueueEvents>(() => {})
    const told: string[] = []
    events.on('degraded', ({ message }) => told.push(message))
    const degraded = reporter(events)
    for (let i = 0; i < MANY; i++) {
      degraded('maybe_cors', `at ${i}`, originOf(i))
      degraded('maybe_cors', 'told twice', originOf(i))
      degraded('maybe_cors', 'told twice', originOf(Math.max(0, i - 999)))
    }
    expect(told).toHaveLength(MANY)
    degraded('maybe_cors', 'once more', originOf(0))
    expect(told.at(-1)).toBe('once more')
  })
})

test('of tasks that were refused with their credentials, and ended, a thousand are remembered', async () => {
  const maps = new Set<Map<unknown, unknown>>()
  const { set } = Map.prototype
  const spied = vi.spyOn(Map.prototype, 'set').mockImplementation(function (this: Map<unknown, unknown>, key, value) {
    if (/^[\da-f]{8}-[\da-f]{4}-7/.test(String(key)) && typeof value === 'number') maps.add(this)
    return set.call(this, key, value)
  })
  onTestFinished(() => spied.mockRestore())
  const give = async () => ({ authorization: 'Bearer t' })
  const { queue, clock } = await startQueue({
    fetch: async () => new Response(null, { status: 401 }),
    credentials: { [API]: give },
  })
  for (let i = 0; i < 1_100; i++) {
    const { taskId } = await queue.enqueue(`${ORDERS}/${i}`, { method: 'POST', body: 'x' })
    await clock.settle()
    await queue.cancel(taskId)
  }
  expect(maps.size).toBeGreaterThan(0)
  expect(Math.max(...[...maps].map(({ size }) => size))).toBeLessThanOrEqual(1_000)
})

describe('lanes', () => {
  test('of 100,000 origins those are kept that have something to remember', () => {
    const { lanes, size } = setup()
    for (let i = 0; i < MANY; i++) lanes.of(null, originOf(i))
    expect(size()).toBeLessThanOrEqual(256)
  })

  test('of 100,000 users of one origin, too, though none of them is signed in any more', () => {
    const { host, lanes, size } = setup()
    for (let i = 0; i < MANY; i++) {
      host.principal = `user ${i}`
      lanes.switchPrincipal(NOW)
      lanes.of(host.principal, originOf(0))
    }
    expect(size()).toBeLessThanOrEqual(256)
  })

  test('S9 a lane is not forgotten while it is held, and is afterwards', () => {
    const { core, lanes, hold, size } = setup()
    const held = Array.from({ length: 1_000 }, (_, i) => hold(originOf(i)))
    for (let i = 1_000; i < MANY; i++) lanes.of(null, originOf(i))
    expect(held.map((_, i) => lanes.find(null, originOf(i)))).toEqual(held)
    expect(held.every((lane) => core.call(OP_HELD_UNTIL, lane, NOW) > NOW)).toBe(true)
    expect(size()).toBeLessThanOrEqual(2 * 1_000 + 256)
    core.call(OP_POLL, NOW + HELD_MS)
    for (let i = 0; i < 4_000; i++) lanes.of(null, originOf(MANY + i))
    expect(size()).toBeLessThanOrEqual(256)
  })

  test('S8 an origin that is paused is so when it comes back', () => {
    const { core, lanes } = setup()
    lanes.of(null, originOf(0))
    lanes.pause(originOf(0))
    for (let i = 1; i < MANY; i++) lanes.of(null, originOf(i))
    expect(lanes.find(null, originOf(0))).toBeUndefined()
    expect(core.call(OP_ROOM, NOW, lanes.of(null, originOf(0)))).toBe(0)
  })

  test('L4 a claim asks the core only for lanes that may have less room than others', () => {
    const { core, lanes, hold } = setup()
    for (let i = 0; i < 10_000; i++) hold(originOf(i))
    const later = NOW + HELD_MS
    core.call(OP_POLL, later)
    expect(lanes.bounds(later, PER_LANE)).toEqual([])
    const calls = vi.spyOn(core, 'call')
    const roomsAsked = () => calls.mock.calls.filter(([op]) => op === OP_ROOM).length
    expect(lanes.bounds(later, PER_LANE)).toEqual([])
    expect(roomsAsked()).toBe(0)
    hold('https://held.test', later)
    expect(lanes.bounds(later, PER_LANE)).toEqual([{ lane: 'https://held.test', max: 0 }])
    expect(roomsAsked()).toBe(1)
  })
})

describe('stats', () => {
  test('show a thousand origins, those that are held first, and say how many there are besides', () => {
    const { core, lanes, hold } = setup()
    for (let i = 0; i < 3_000; i++) hold(originOf(i))
    for (let i = 0; i < 10; i++) lanes.of(null, `https://idle-${i}.test`)
    const { origins, moreOrigins } = heldStats(core.stats(0) as CoreStats, lanes, () => ({}))
    expect(Object.keys(origins)).toHaveLength(1_000)
    expect(moreOrigins).toBeGreaterThanOrEqual(2_000)
    expect(Object.values(origins).every(({ heldUntilAt }) => heldUntilAt !== null)).toBe(true)
  })
})
