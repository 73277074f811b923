import { expect, test } from 'vitest'
import { assertBounded, counted, HOSTILE_BATCHES, LARGE_BODIES, send } from './hostile-bodies.ts'

test.for(Object.entries(HOSTILE_BATCHES))('%s: the answer is short, and the body is read once at most', ([, make]) =>
  assertBounded(make),
)

test.for(Object.entries(LARGE_BODIES))('%s: others have their turn meanwhile', async ([, make]) => {
  const world = await counted()
  const body = make()
  let turns = 0
  let isOver = false
  const turn = (): void => {
    turns++
    if (!isOver) setImmediate(turn)
  }
  setImmediate(turn)
  const answer = await send(world, body)
  isOver = true
  expect(answer.status).toBeLessThan(300)
  expect(world.read()).toBeLessThanOrEqual(body.raw.length)
  // each megabyte in parts, and a large task in its steps
  expect(turns).toBeGreaterThan(3 * Math.ceil(body.raw.length / 1_000_000))
})
