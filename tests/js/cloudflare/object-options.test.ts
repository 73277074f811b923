/** What an object can be given, and what is refused since it could have no effect there. */

import { expect, test, vi } from 'vitest'
import { resolveObjectOptions } from '../../../js/cloudflare/object-options.ts'

const elsewhere = {
  name: 'outbox',
  principal: 'ann',
  store: {},
  persist: 'before-send',
  persistMethods: ['POST'],
  clock: {},
  wasm: {},
  preload: 'never',
  atemptsPerRun: 3,
}

test.each(Object.entries(elsewhere))('an option that would have no effect in an object is named: %s', (name, value) => {
  expect(() => resolveObjectOptions({ [name]: value })).toThrow(name)
})

test('what a queue refuses an object refuses', () => {
  expect(() => resolveObjectOptions({ capacity: 0 })).toThrow('capacity')
  expect(() => resolveObjectOptions({ attemptsPerRun: 901 })).toThrow('attemptsPerRun')
})

test("options of a queue go to it, and an object's own do not", () => {
  const { queue, attemptsPerRun, maxBodyBytes } = resolveObjectOptions({ attemptsPerRun: 7, maxBodyBytes: 1_000 })
  expect([attemptsPerRun, maxBodyBytes]).toEqual([7, 1_000])
  expect(queue).toMatchObject({ maxBodyBytes: 1_000, retryBudget: expect.anything() })
  expect(queue).not.toHaveProperty('attemptsPerRun')
})

test('a dead letter is told on the console, with the method of the stub that puts it back, unless someone else hears of it', () => {
  const said = vi.spyOn(console, 'warn').mockImplementation(() => {})
  const error = { message: 'POST https://api.test/a was given up; put it back with deadLetters.redrive(taskId) later' }
  resolveObjectOptions({}).onExhausted({ error } as never)
  expect(said.mock.calls).toEqual([
    ["redrive: POST https://api.test/a was given up; put it back with redrive(taskId) of the object's stub later"],
  ])
  const onExhausted = vi.fn()
  resolveObjectOptions({ onExhausted }).onExhausted({ error } as never)
  expect([onExhausted.mock.calls.length, said.mock.calls.length]).toEqual([1, 1])
  said.mockRestore()
})
