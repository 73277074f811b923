/** Several adapters watch one queue, and come and go in any order. */

import { expect, test } from 'vitest'
import { RetryQueue } from '../../js/index.ts'
import { internalsOf } from '../../js/queue/internals.ts'
import { observe } from '../../js/queue/observe.ts'
import { ORDERS, setup } from './setup.ts'

/** An observer that writes down what it sees, under a name. */
const noting = (name: string, notes: string[]): Parameters<typeof observe>[1] => ({
  async attempt(call, _, next) {
    notes.push(`${name} before ${call.method}`)
    const finished = await next()
    notes.push(`${name} after ${finished.status}`)
    return finished
  },
})

test('the one that came last is outermost', async () => {
  const queue = new RetryQueue({ fetch: async () => new Response() })
  const notes: string[] = []
  observe(queue, noting('first', notes))
  observe(queue, noting('last', notes))
  await queue.fetch(ORDERS)
  expect(notes).toEqual(['last before GET', 'first before GET', 'first after 200', 'last after 200'])
})

test.each([[[0, 1]], [[1, 0]]])('taken off in the order %j, the queue is as it was', async (order) => {
  const queue = new RetryQueue({ fetch: async () => new Response() })
  const { host } = internalsOf(queue)
  const before = { ...host }
  const notes: string[] = []
  const all = { ...noting('one', notes), onTask: () => {}, onEnd: () => {} }
  const offs = [observe(queue, all), observe(queue, noting('two', notes))]
  for (const i of order) offs[i]?.()
  await queue.fetch(ORDERS)
  expect(notes).toEqual([])
  expect(host.watched).toBe(before.watched)
  expect(Object.keys(host)).toEqual(Object.keys(before))
})

test('one that is taken off twice leaves the other where it is', async () => {
  const queue = new RetryQueue({ fetch: async () => new Response() })
  const notes: string[] = []
  const off = observe(queue, noting('one', notes))
  observe(queue, noting('two', notes))
  off()
  off()
  await queue.fetch(ORDERS)
  expect(notes).toEqual(['two before GET', 'two after 200'])
})

test('an attempt under way ends with the observers it began with', async () => {
  const { queue, server, clock } = await setup()
  const notes: string[] = []
  const release = server.hang()
  const off = observe(queue, noting('early', notes))
  const answer = queue.fetch(ORDERS)
  await clock.settle()
  off()
  observe(queue, noting('late', notes))
  release(200)
  await answer
  expect(notes).toEqual(['early before GET', 'early after 200'])
})

test('every observer hears of calls that become tasks, and of their ends', async () => {
  const { queue, server, clock } = await setup()
  const heard: string[] = []
  for (const name of ['one', 'two']) {
    observe(queue, {
      onTask: (call, taskId) => heard.push(`${name} ${call.method} ${taskId === undefined ? 'to be' : 'is'} a task`),
      onEnd: ({ status }) => heard.push(`${name} ${status}`),
    })
  }
  server.reply(503).reply(200)
  const answer = queue.fetch(ORDERS)
  await clock.advance(1_000)
  await answer
  expect(heard).toEqual(['one GET is a task', 'two GET is a task', 'one SUCCEEDED', 'two SUCCEEDED'])
})
