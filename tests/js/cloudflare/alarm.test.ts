/** One alarm stands as long as there is something to do, whatever the storage does meanwhile. The real one is in tests/workers. */

import { expect, test } from 'vitest'
import { Alarm } from '../../../js/cloudflare/alarm.ts'
import { fakeClock } from '../../../js/testing.ts'

/** Storage whose answers come late, and which refuses the next calls it is told to. */
function setup() {
  const clock = fakeClock()
  let stands: number | null = null
  let refusals = 0
  let refusedAfterMs = 0
  const sets: number[] = []
  const answer = async (change: () => void): Promise<void> => {
    if (refusals > 0) {
      refusals--
      if (refusedAfterMs > 0) await new Promise<void>((resolve) => clock.after(refusedAfterMs, resolve))
      throw new Error('refused')
    }
    // what is written is written at once, and told later
    change()
    await new Promise<void>((resolve) => clock.after(5, resolve))
  }
  const storage = {
    getAlarm: async () => stands,
    setAlarm: (at: number) =>
      answer(() => {
        sets.push(at)
        stands = at
      }),
    deleteAlarm: () =>
      answer(() => {
        stands = null
      }),
  }
  const failures: unknown[] = []
  const alarm = new Alarm(storage, clock, (error) => failures.push(error))
  return {
    clock,
    alarm,
    sets,
    failures,
    stands: () => stands,
    rings: () => {
      stands = null
    },
    refuse: (times: number, afterMs = 0) => {
      refusals = times
      refusedAfterMs = afterMs
    },
  }
}

test('the soonest of what is needed stands', () => {
  const { alarm, stands, sets } = setup()
  alarm.need(500)
  alarm.need(900)
  alarm.need(300)
  expect([stands(), sets]).toEqual([300, [500, 300]])
})

test('one that could not be set is told, and set by the next that is needed, or by the next look', async () => {
  for (const again of ['need', 'check'] as const) {
    const { alarm, clock, failures, stands, refuse } = setup()
    refuse(1)
    alarm.need(500)
    await clock.settle()
    expect([stands(), failures.length]).toEqual([null, 1])
    void alarm[again](500)
    await clock.settle()
    expect(stands()).toBe(500)
  }
})

test('a look leaves one alone that stands', async () => {
  const { alarm, clock, stands } = setup()
  alarm.need(60_000)
  await clock.advance(10)
  await alarm.check(0)
  await clock.settle()
  expect(stands()).toBe(60_000)
})

test('S1 a nearer one that was refused is set by the next look, though a farther one stands', async () => {
  const { alarm, clock, stands, refuse } = setup()
  alarm.need(60_000)
  await clock.settle()
  refuse(1)
  alarm.need(500)
  await clock.settle()
  expect(stands()).toBe(60_000)
  void alarm.check(500)
  await clock.settle()
  expect(stands()).toBe(500)
})

test('S1 a look waits for an alarm that is still being set: where that is refused late, it is set anew', async () => {
  const { alarm, clock, stands, refuse } = setup()
  alarm.need(60_000)
  await clock.advance(10)
  refuse(1, 50)
  alarm.need(500)
  const looked = alarm.check(500)
  await clock.advance(100)
  await looked
  expect(stands()).toBe(500)
})

test('S1 a look resolves when one stands, and rejects where none can be set', async () => {
  const { alarm, clock, stands, refuse } = setup()
  refuse(2)
  alarm.need(500)
  await expect(alarm.check(500)).rejects.toThrow('refused')
  expect(stands()).toBe(null)
  const looked = alarm.check(500)
  await clock.advance(10)
  await looked
  expect(stands()).toBe(500)
})

test('while one runs its watch stands, and what is needed meanwhile is left to the end', async () => {
  const { alarm, clock, stands, rings } = setup()
  rings()
  void alarm.start()
  await clock.advance(10)
  alarm.need(1)
  expect(stands()).toBeGreaterThan(clock.now())
  void alarm.end(clock.now() + 700)
  expect(stands()).toBe(clock.now() + 700)
})

test('what comes while the last one is being taken back has one of its own', async () => {
  const { alarm, clock, stands } = setup()
  void alarm.start()
  await clock.advance(10)
  const ended = alarm.end(null)
  alarm.need(clock.now() + 50)
  await clock.advance(20)
  await ended
  expect(stands()).not.toBeNull()
})

test('what comes while the end asks again is not put off by it', async () => {
  const { alarm, clock, stands, refuse } = setup()
  void alarm.start()
  await clock.advance(10)
  refuse(3)
  const soon = clock.now() + 1_000
  const ended = alarm.end(clock.now() + 600_000)
  await clock.settle()
  alarm.need(soon)
  await clock.advance(2_000)
  await ended
  expect(stands()).toBe(soon)
})

test('storage that refuses for long is asked until it takes it', async () => {
  const { alarm, clock, stands, refuse } = setup()
  void alarm.start()
  await clock.advance(10)
  refuse(12)
  const ended = alarm.end(5)
  await clock.advance(9 * 60_000)
  await ended
  expect(stands()).toBe(5)
})
