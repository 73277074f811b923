/** A task keeps few numbers, and gives back every time that it was given. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Call } from '../../js/call/call.ts'
import { uuid7Maker } from '../../js/platform/uuid7.ts'
import { Task } from '../../js/tasks/task.ts'

const call = { origin: 'https://api.test' } as Call
const instant = fc.oneof(fc.nat(2 ** 31), fc.integer({ min: 1_700_000_000_000, max: 2 ** 47 }), fc.constant(0.5))
const STATUSES = ['PENDING', 'IN_FLIGHT', 'SUCCEEDED', 'EXHAUSTED', 'CANCELLED'] as const

test('times are as they were given, whatever the id says and the flags are', () => {
  fc.assert(
    fc.property(instant, fc.integer({ min: -(2 ** 23), max: 2 ** 23 }), instant, (createdAt, offMs, dueAt) => {
      const taskId = uuid7Maker(() => 0)(Math.max(0, Math.floor(createdAt) + offMs))
      const task = new Task(taskId, createdAt, call)
      for (const status of STATUSES) {
        task.status = status
        task.unauthorized = task.announced = task.isHandedOver = status !== 'PENDING'
        task.nextAttemptAt = dueAt
        task.endedAt = dueAt
        expect([task.createdAt, task.nextAttemptAt, task.status]).toEqual([createdAt, dueAt, status])
      }
    }),
  )
})

test('an id that tells no time leaves the time to the task', () => {
  expect(new Task('order-1', 1_700_000_000_000, call).createdAt).toBe(1_700_000_000_000)
})

test('tasks of which nothing has come share nothing that one of them changes', () => {
  const [one, other] = [new Task('1', 1, call), new Task('2', 1, call)]
  one.attemptNumber = 3
  one.reason = 'expired'
  expect([other.attemptNumber, other.reason]).toEqual([0, undefined])
})
