/** What other processes do that no hint tells of. */

import { expect, test } from 'vitest'
import type { TaskStore } from '../../js/api/store.ts'
import type { MemoryStore } from '../../js/stores/memory.ts'
import { opened, withMethods, world } from './durable-setup.ts'
import { ORDERS, watch } from './setup.ts'

const POST = { method: 'POST', body: 'tea' } as const

/** As a file that several processes share: nothing is told, so each looks by itself. */
function deaf(store: MemoryStore): TaskStore {
  return new Proxy(store, {
    get(target, name) {
      if (name === 'idleCheckMs') return 1_000
      if (name === 'subscribe') return undefined
      const value = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

test.each([
  ['at once where it is heard', (store: MemoryStore) => store, 0],
  ['at the next look where it is not, and not at the next renewal', deaf, 1_000],
] as const)('S8 a cancel by another process aborts the attempt, %s', async (_, kind, afterMs) => {
  const { open, server, clock, store } = world(kind)
  const a = await open()
  const b = await open()
  server.hang()
  const { taskId } = await a.queue.enqueue(ORDERS, POST)
  await clock.settle()
  expect(await b.queue.cancel(taskId)).toBe('requested')
  await clock.advance(afterMs)
  expect(server.requests[0]?.signal.aborted).toBe(true)
  expect(await store.get(taskId)).toMatchObject({ status: 'CANCELLED' })
})

test('S12 a request kept for its credentials is let go of once another process has ended its task', async () => {
  const { open, server, clock, store } = world(deaf)
  const { queue } = await open()
  server.reply(503)
  const headers = { authorization: 'Bearer s3cr3t-of-ann' }
  const init = { ...POST, headers, redrive: { mode: 'defer' } } as const
  const { taskId } = (await (await queue.fetch(ORDERS, init)).json()) as { taskId: string }
  queue.pause()
  await store.cancel(taskId)
  const asked = new Set<string>()
  const get = store.get.bind(store)
  store.get = (id) => {
    asked.add(id)
    return get(id)
  }
  await clock.advance(61_000)
  expect(asked).toContain(taskId)
  asked.clear()
  await clock.advance(120_000)
  expect(asked).not.toContain(taskId)
})

test('a call that was sent under the key of a task that is done gets its own answer', async () => {
  const { server, clock, queue } = await opened()
  const redrive = { idempotencyKey: 'order-1' }
  await queue.enqueue(ORDERS, { ...POST, redrive })
  await clock.settle()
  server.reply(503)
  const answer = watch(queue.fetch(ORDERS, { ...POST, redrive }))
  await clock.settle()
  expect(answer.value?.status).toBe(503)
})

test('S8 a dead letter that goes back is not sent after its expiresAt', async () => {
  const { clock, queue, hitsAfter } = await opened({}, 400)
  const expiresAt = clock.now() + 10_000
  const { taskId } = await queue.enqueue(ORDERS, { ...POST, redrive: { expiresAt } })
  await clock.advance(10_001)
  await queue.deadLetters.redrive(taskId)
  expect(await hitsAfter(1_000)).toBe(1)
  expect(await queue.get(taskId)).toMatchObject({ status: 'EXHAUSTED', reason: 'expired' })
})

test('S13 two redrives of one dead letter at once: what a claim brings between them is sent, and not only once its lease has run out', async () => {
  const answers: (() => void)[] = []
  const { open, server, clock } = world((store) =>
    withMethods(store, {
      redrive: async (...asked) => {
        const said = await store.redrive(...asked)
        await new Promise<void>((resolve) => answers.push(resolve))
        return said
      },
    }),
  )
  const { queue } = await open()
  server.reply(400)
  const { taskId } = await queue.enqueue(ORDERS, POST)
  await clock.settle()
  const first = queue.deadLetters.redrive(taskId)
  await clock.settle()
  // another call has a turn made, which claims the task
  await queue.enqueue(`${ORDERS}/2`, POST)
  await clock.advance(1_000)
  const second = watch(queue.deadLetters.redrive(taskId))
  await clock.settle()
  for (const answer of answers.splice(0)) answer()
  await first
  await clock.advance(1_000)
  expect(await queue.get(taskId)).toMatchObject({ status: 'SUCCEEDED' })
  expect(second.error).toBeDefined()
})
