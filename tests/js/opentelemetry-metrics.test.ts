/** The queue in numbers, and how many of them there can be. */

import { beforeAll, expect, test } from 'vitest'
import { attachOpenTelemetry, type OpenTelemetryOptions } from '../../js/adapters/opentelemetry.ts'
import { type QueueStats, RetryQueue } from '../../js/index.ts'
import { ORDERS } from './setup.ts'
import { registerGlobals, Telemetry, traced } from './telemetry.ts'

beforeAll(registerGlobals)

const DURATION = 'http.client.request.duration'

test('every attempt is in the histogram of the conventions, in seconds, by what came of it', async () => {
  const { queue, server, clock, telemetry } = await traced()
  const release = server.hang()
  const answer = queue.fetch(`${ORDERS}?page=1`, { method: 'POST', body: 'order' })
  await clock.advance(30)
  release(503)
  await clock.advance(1_000)
  await answer
  const common = { 'http.request.method': 'POST', 'server.address': 'api.test', 'server.port': 443 }
  const points = await telemetry.points(DURATION)
  expect(points.map(({ attributes }) => attributes)).toEqual([
    { ...common, 'http.response.status_code': 503, 'error.type': '503' },
    { ...common, 'http.response.status_code': 200 },
  ])
  expect(points.map(({ value }) => value)).toMatchObject([
    { count: 1, sum: 0.03 },
    { count: 1, sum: 0 },
  ])
  const { scopeMetrics } = await telemetry.collect()
  const histogram = scopeMetrics[0]?.metrics.find(({ descriptor }) => descriptor.name === DURATION)
  expect(histogram?.descriptor.unit).toBe('s')
  const boundaries = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
  expect(histogram?.dataPoints[0]?.value).toMatchObject({ buckets: { boundaries } })
})

test('depth, capacity, dead letters and ended tasks are those of stats()', async () => {
  const { queue, clock, telemetry } = await traced({ name: 'orders', capacity: 7 }, {}, 404, 200, 503)
  for (let i = 0; i < 3; i++) await queue.enqueue(`${ORDERS}/${i}`)
  await clock.settle()
  const attributes = { 'redrive.queue': 'orders' }
  expect(await telemetry.points('redrive.queue.depth')).toEqual([{ attributes, value: 1 }])
  expect(await telemetry.points('redrive.queue.capacity')).toEqual([{ attributes, value: 7 }])
  expect(await telemetry.points('redrive.dead_letters')).toEqual([{ attributes, value: 1 }])
  expect(await telemetry.points('redrive.tasks')).toEqual([
    { attributes: { ...attributes, 'redrive.outcome': 'succeeded' }, value: 1 },
    { attributes: { ...attributes, 'redrive.outcome': 'exhausted' }, value: 1 },
    { attributes: { ...attributes, 'redrive.outcome': 'cancelled' }, value: 0 },
  ])
})

/** A queue whose breakers are as they are told. */
class Circuits extends RetryQueue {
  circuits: Record<string, 'CLOSED' | 'OPEN' | 'HALF_OPEN'> = {}

  override stats(): QueueStats {
    const rest = { depth: 0, inFlight: 0, heldUntilAt: null, shutUntilAt: null, retryBudget: 10 }
    const rows = Object.entries(this.circuits).map(([origin, circuit]) => [origin, { ...rest, circuit }])
    return { ...super.stats(), origins: Object.fromEntries(rows) }
  }
}

test.each<[what: string, how: OpenTelemetryOptions, points: readonly [string, number, number][]]>([
  [
    'a circuit is 0 while it is closed, 1 half-open, 2 open',
    {},
    [
      ['a.test', 443, 0],
      ['b.test', 443, 2],
      ['c.test', 81, 1],
    ],
  ],
  [
    'of circuits that share a series the worst is told',
    { maxOrigins: 1 },
    [
      ['a.test', 443, 0],
      ['other', 0, 2],
    ],
  ],
])('%s', async (_, how, points) => {
  const telemetry = new Telemetry()
  const queue = new Circuits({ name: 'orders', preload: 'never' })
  attachOpenTelemetry(queue, { meterProvider: telemetry.meterProvider, ...how })
  queue.circuits = { 'https://a.test': 'CLOSED', 'https://b.test': 'OPEN', 'http://c.test:81': 'HALF_OPEN' }
  const expected = points.map(([address, port, value]) => ({
    attributes: { 'redrive.queue': 'orders', 'server.address': address, ...(port > 0 && { 'server.port': port }) },
    value,
  }))
  expect(await telemetry.points('redrive.circuit.state')).toEqual(expected)
  await queue.close()
})

test('origins beyond maxOrigins share one series', async () => {
  const { queue, telemetry } = await traced({}, { maxOrigins: 3 })
  for (let i = 0; i < 1_000; i++) await queue.fetch(`https://host-${i % 500}.test/`)
  const points = await telemetry.points(DURATION)
  const counts = points.map(({ attributes, value }) => [
    attributes['server.address'],
    (value as { count: number }).count,
  ])
  expect(counts).toEqual([
    ['host-0.test', 2],
    ['host-1.test', 2],
    ['host-2.test', 2],
    ['other', 994],
  ])
})

test('S12 no URL, key or task id is in any attribute', async () => {
  const { queue, clock, telemetry } = await traced({}, {}, 503)
  const answer = queue.fetch(`${ORDERS}/path?q=word`, { method: 'POST', headers: { 'idempotency-key': 'key-1' } })
  await clock.advance(1_000)
  await answer
  const { scopeMetrics } = await telemetry.collect()
  const told = JSON.stringify(scopeMetrics)
  expect(told).toContain('api.test')
  for (const word of ['path', 'word', 'key-1', 'https:', 'orders']) expect(told).not.toContain(word)
})

test('detached, the queue is read no more; the SDK goes on saying what it knew', async () => {
  const { queue, telemetry, detach } = await traced()
  queue.pause()
  await queue.enqueue(`${ORDERS}/1`)
  expect(await telemetry.points('redrive.queue.depth')).toMatchObject([{ value: 1 }])
  detach()
  await queue.enqueue(`${ORDERS}/2`)
  expect(await telemetry.points('redrive.queue.depth')).toMatchObject([{ value: 1 }])
})

test('a queue that is closed can still be observed', async () => {
  const { queue, clock, telemetry } = await traced()
  await queue.enqueue(ORDERS)
  await clock.settle()
  await queue.close()
  expect((await telemetry.points('redrive.tasks'))[0]).toMatchObject({ value: 1 })
})
