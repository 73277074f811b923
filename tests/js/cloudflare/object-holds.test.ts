/** Objects are told of a hold by the isolate that has handed tasks to them, and no more often than needed. */

import { expect, test } from 'vitest'
import type { Call } from '../../../js/call/call.ts'
import { objectName } from '../../../js/cloudflare/namespace.ts'
import { hasTaken, tellHold } from '../../../js/cloudflare/object-holds.ts'

let origins = 0

function setup(shards = 1, holdLane: (forMs: number) => Promise<void> = async () => {}) {
  const origin = `https://${++origins}.told.test`
  const told: [name: string, forMs: number][] = []
  const kept: Promise<unknown>[] = []
  const namespace = {
    idFromName: (name: string) => ({ name }),
    get: ({ name }: { readonly name: string }) => ({
      holdLane(forMs: number) {
        told.push([name, forMs])
        return holdLane(forMs)
      },
    }),
  }
  const binding = { namespace: namespace as never, shards, waitUntil: (work: Promise<unknown>) => void kept.push(work) }
  const tell = (now: number, forMs: number, principal: string | null = null) =>
    tellHold(binding, { principal, origin } as Call, now, forMs)
  return { origin, told, kept, tell }
}

test('S9 an object that has taken a task is told, and no other', () => {
  const { origin, told, tell } = setup()
  tell(0, 5_000)
  expect(told).toEqual([])
  hasTaken(origin)
  tell(0, 5_000, 'ann')
  tell(0, 5_000)
  expect(told).toEqual([[origin, 5_000]])
})

test('an object is told of a hold that each answer extends a little once a second', () => {
  const { origin, told, tell } = setup()
  hasTaken(origin)
  for (let now = 0; now < 3_000; now += 10) tell(now, 5_000)
  expect(told).toHaveLength(3)
  tell(3_000, 1_000)
  expect(told).toHaveLength(3)
})

test('of several shards those are told that have taken a task', () => {
  const { origin, told, tell } = setup(4)
  for (const shard of [1, 3]) hasTaken(objectName('ann', origin, shard))
  tell(0, 5_000, 'ann')
  expect(told.map(([name]) => name)).toEqual([1, 3].map((shard) => objectName('ann', origin, shard)))
})

test('an object that cannot be told fails no call', async () => {
  const { origin, kept, tell } = setup(1, () => Promise.reject(new Error('moved')))
  hasTaken(origin)
  tell(0, 5_000)
  expect(kept).toHaveLength(1)
  await expect(kept[0]).resolves.toBeUndefined()
})

test('S9 an object that could not be told is told by the next answer', async () => {
  let isMoved = true
  const { origin, told, kept, tell } = setup(1, async () => {
    if (isMoved) throw new Error('moved')
  })
  hasTaken(origin)
  tell(0, 5_000)
  await kept[0]
  isMoved = false
  for (const now of [10, 20]) tell(now, 5_000)
  expect(told).toEqual([
    [origin, 5_000],
    [origin, 5_000],
  ])
})

test('past 1,000 objects the one that took nothing for longest is forgotten', () => {
  const { origin, told, tell } = setup()
  hasTaken(origin)
  for (let n = 0; n < 1_000; n++) hasTaken(`https://many-${n}.test`)
  tell(0, 5_000)
  expect(told).toEqual([])
})
