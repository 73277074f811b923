import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ById } from '../../js/tasks/by-id.ts'

const task = (at: number) => ({ taskId: String(at).padStart(8, '0') })
const step = fc.tuple(fc.constantFrom('add', 'add', 'delete', 'get'), fc.nat(60))

test('holds what a Map would, in the order of ids', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
      const model = new Map<string, { taskId: string }>()
      const ids = new ById<{ taskId: string }>()
      for (const [what, at] of steps) {
        const each = task(at)
        if (what === 'add' && !model.has(each.taskId)) {
          model.set(each.taskId, each)
          ids.add(each)
        } else if (what === 'delete') {
          model.delete(each.taskId)
          ids.delete(each)
        }
        expect(ids.get(each.taskId)).toBe(model.get(each.taskId))
      }
      expect([...ids].map(({ taskId }) => taskId)).toEqual([...model.keys()].sort())
    }),
  )
})

test('gives up the room of those that are gone, and finds the others after that', () => {
  const ids = new ById<{ taskId: string }>()
  const all = Array.from({ length: 1_000 }, (_, i) => task(i))
  for (const each of all) ids.add(each)
  for (const each of all.slice(0, 990)) ids.delete(each)
  expect([...ids]).toEqual(all.slice(990))
  for (const [i, each] of all.entries()) expect(ids.get(each.taskId)).toBe(i < 990 ? undefined : each)
})
