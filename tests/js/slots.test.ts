import { expect, test } from 'vitest'
import { SLOT_INDEX } from '../../js/core/codes.ts'
import { Slots } from '../../js/runner/slots.ts'
import type { Task } from '../../js/tasks/task.ts'

const task = (taskId: string) => ({ taskId, slot: -1 }) as unknown as Task
/** The handle of the same place after the core has used it again. */
const again = (slot: number) => slot + SLOT_INDEX + 1

test('a task is found by its own handle alone, and counted until it is taken out', () => {
  const slots = new Slots()
  const [old, young] = [task('1'), task('2')]
  slots.add(old, 5)
  expect(slots.at(5)).toBe(old)
  expect(slots.at(again(5))).toBeUndefined()
  slots.remove(old)
  slots.add(young, again(5))
  expect([slots.at(5), slots.at(again(5)), slots.size]).toEqual([undefined, young, 1])
  slots.remove(young)
  expect([slots.size, slots.all]).toEqual([0, []])
})

test('S22 a task whose end is still to be told is told although another has its place by now', () => {
  const slots = new Slots()
  const [ended, young] = [task('1'), task('2')]
  slots.add(ended, 5)
  const [{ task: told } = {}] = slots.of({ at: (place) => [1, 5, 0][place] as number }, 1)
  slots.add(young, again(5))
  expect([told, told?.slot]).toEqual([ended, 5])
  slots.remove(ended)
  expect([slots.all, slots.size]).toEqual([[young], 1])
  slots.remove(young)
  expect(slots.size).toBe(0)
})

test('all are in the order in which they came, whatever places they have', () => {
  const slots = new Slots()
  for (const [id, slot] of [
    ['3', 0],
    ['1', 2],
    ['2', 1],
  ] as const)
    slots.add(task(id), slot)
  expect(slots.all.map(({ taskId }) => taskId)).toEqual(['1', '2', '3'])
})
