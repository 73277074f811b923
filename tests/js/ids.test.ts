import { expect, test } from 'vitest'
import { z } from 'zod'
import { hostDraw, uuid4 } from '../../js/platform/random.ts'
import { uuid7Maker } from '../../js/platform/uuid7.ts'
import { ORDERS, setup } from './setup.ts'

const NOW = Date.UTC(2030, 0, 1)

test('a task id is a UUIDv7: time first, version and variant in place', () => {
  const id = uuid7Maker(hostDraw())(NOW)
  expect(id).toMatch(/^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/)
  expect(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)).toBe(NOW)
})

test('ids of one maker strictly rise: within a millisecond, past a full counter, after a step back', () => {
  const next = uuid7Maker(hostDraw())
  const times = [...Array.from({ length: 10_000 }, () => NOW), NOW - 5_000, NOW + 1, NOW + 1, NOW + 60_000]
  const ids = times.map((now) => next(now))
  expect([...ids].sort()).toEqual(ids)
  expect(new Set(ids).size).toBe(ids.length)
})

test('S21 ids and keys repeat under a seed, and differ under another', async () => {
  const run = async (seed: bigint) => {
    const { queue, server } = await setup({ seed })
    await queue.enqueue(ORDERS, { method: 'POST' })
    const receipt = await queue.enqueue(ORDERS, { method: 'POST' })
    return [receipt.taskId, receipt.idempotencyKey, server.hits]
  }
  expect(await run(7n)).toEqual(await run(7n))
  expect(await run(7n)).not.toEqual(await run(8n))
})

test('without a seed two queues share nothing', async () => {
  const keyOf = async () => {
    const { queue } = await setup({ seed: undefined as never })
    return (await queue.enqueue(ORDERS, { method: 'POST' })).idempotencyKey
  }
  expect(await keyOf()).not.toBe(await keyOf())
})

test('an intent key is a UUID as validators accept it, and no two of many are alike', () => {
  const draw = hostDraw()
  const keys = Array.from({ length: 2_000 }, () => uuid4(draw))
  expect(new Set(keys).size).toBe(keys.length)
  for (const key of keys) expect(z.uuidv4().parse(key)).toBe(key)
  // all bits but the six that are fixed are drawn
  expect([0, 0xffffffff].map((word) => uuid4(() => word))).toEqual([
    '00000000-0000-4000-8000-000000000000',
    'ffffffff-ffff-4fff-bfff-ffffffffffff',
  ])
})
