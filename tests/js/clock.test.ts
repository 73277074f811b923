import { expect, test } from 'vitest'
import { steady } from '../../js/platform/clock.ts'
import { fakeClock } from '../../js/testing.ts'
import { ORDERS, setup, submitted, watch } from './setup.ts'

const HOUR = 3_600_000
const YEAR = 365 * 24 * HOUR

test('S9 the wall clock stepping back an hour shortens no wait and lengthens none', async () => {
  const { queue, clock, hitsAfter } = await setup({}, 503, [503, { 'retry-after': '30' }])
  const started = clock.monotonic()
  await queue.enqueue(ORDERS)
  await clock.settle()
  clock.step(-HOUR)
  expect(await hitsAfter(1_000)).toBe(2)
  clock.step(-HOUR)
  expect(await hitsAfter(29_999)).toBe(2)
  expect(await hitsAfter(3_001)).toBe(3)
  expect(clock.monotonic() - started).toBe(34_000)
})

test('L1 a step forward counts as time passed: what waited for its curve goes at the next look', async () => {
  const { queue, clock, hitsAfter } = await submitted([[503, { 'retry-after': '60' }]])
  clock.step(HOUR)
  await queue.enqueue(`${ORDERS}/other`)
  expect(await hitsAfter()).toBe(3)
})

test('L1 ten years forward end what had a deadline, with its reason, and hang nothing', async () => {
  const { queue, clock } = await setup({}, 503, 503)
  const waiting = watch(queue.fetch(ORDERS))
  const { taskId } = await queue.enqueue(ORDERS)
  await clock.settle()
  clock.step(10 * YEAR)
  await clock.advance(2_000)
  expect(waiting.value?.status).toBe(503)
  expect(await queue.get(taskId)).toMatchObject({ status: 'EXHAUSTED', reason: 'total_budget' })
  expect(clock.timers).toBe(0)
})

test('the steady clock never goes back, keeps pace after a step back, and follows a step forward', () => {
  const clock = fakeClock(1_000_000)
  let elapsed = 0
  const now = steady({ ...clock, now: () => clock.now() + elapsed, monotonic: () => elapsed })
  expect(now()).toBe(1_000_000)
  elapsed = 50
  clock.step(-HOUR)
  expect(now()).toBe(1_000_050)
  elapsed = 80
  expect(now()).toBe(1_000_080)
  clock.step(2 * HOUR)
  expect(now()).toBe(1_000_080 + HOUR)
})

test('the steady clock goes on at the pace of a monotonic clock that starts anew: fake timers were taken off', () => {
  let [wall, elapsed] = [1_000_000, 0]
  const now = steady({ ...fakeClock(), now: () => wall, monotonic: () => elapsed })
  for (const [passed, anew] of [
    [8_500, 1_500],
    [200, 0],
  ] as const) {
    const before = now()
    wall += passed
    elapsed += passed
    expect(now()).toBe(before + passed)
    wall -= passed
    elapsed = anew
    expect(now()).toBe(before + passed)
  }
})

test('the fake clock wakes timers in order of time, then of arming, and forgets those taken back', async () => {
  const clock = fakeClock()
  const woken: string[] = []
  clock.after(20, () => woken.push('late'))
  clock.after(10, () => woken.push('first'))
  clock.after(10, () => woken.push('second'))
  clock.after(5, () => woken.push('never'))()
  expect(clock.timers).toBe(3)
  await clock.advance(19)
  expect(woken).toEqual(['first', 'second'])
  await clock.advance(1)
  expect(woken).toEqual(['first', 'second', 'late'])
  expect(clock.timers).toBe(0)
})
