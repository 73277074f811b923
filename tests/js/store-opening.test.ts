/** A store that cannot be opened when the queue starts: another process may hold its file, or its disk may be away for a while. */

import { expect, test } from 'vitest'
import type { TaskStore } from '../../js/api/store.ts'
import type { RetryQueue as Queue } from '../../js/queue/queue.ts'
import { type World, world } from './durable-setup.ts'
import { ORDERS } from './setup.ts'

const POST = { method: 'POST', body: 'tea', redrive: { allowMemory: true } } as const

/** Until `free`, nothing can be had of the store. */
function setup(): World & { free(): void; closes(): number } {
  let busy = true
  let closes = 0
  const it = world((store) => {
    return new Proxy<TaskStore>(store, {
      get(_, name) {
        const value: unknown = Reflect.get(store, name)
        if (name === 'close') closes++
        if (typeof value !== 'function') return value
        const refuse = () => Promise.reject(new Error('another process holds it'))
        return busy && name !== 'configure' && name !== 'subscribe' ? refuse : value.bind(store)
      },
    })
  })
  return {
    ...it,
    free() {
      busy = false
    },
    closes: () => closes,
  }
}

test('it is asked again: tasks stay in memory until then, those that come later are stored', async () => {
  const { open, store, clock, free } = setup()
  const { queue, events } = await open()
  expect(await queue.enqueue(`${ORDERS}/1`, POST)).toMatchObject({ durability: 'memory' })
  expect(events.of('degraded')).toMatchObject([{ code: 'storage_unavailable' }])
  free()
  await clock.advance(1_000)
  const { taskId } = await queue.enqueue(`${ORDERS}/2`, POST)
  expect(await store.get(taskId)).toBeDefined()
})

test('a queue that is closed meanwhile asks no more, and closes what the store may hold open', async () => {
  const { open, close, clock, closes } = setup()
  const process = await open()
  await process.queue.enqueue(ORDERS, POST)
  await clock.advance(2_000)
  expect(closes()).toBe(0)
  await close(process)
  expect(clock.timers).toBe(0)
  expect(closes()).toBe(1)
})

test.each<[string, (queue: Queue, taskId: string) => Promise<unknown>]>([
  ['get', (queue, taskId) => queue.get(taskId)],
  ['attempts', (queue, taskId) => queue.attempts(taskId)],
  ['explain', (queue, taskId) => queue.explain(taskId)],
  ['list', (queue) => queue.list()],
  ['deadLetters.list', (queue) => queue.deadLetters.list()],
  ['deadLetters.export', (queue) => queue.deadLetters.export()],
  ['cancel', (queue, taskId) => queue.cancel(taskId)],
  ['result', (queue, taskId) => queue.result(taskId)],
  ['clear', (queue) => queue.clear()],
  ['setPrincipal({ purge })', (queue) => queue.setPrincipal('ben', { purge: true })],
  ['deadLetters.redrive', (queue, taskId) => queue.deadLetters.redrive(taskId)],
  ['deadLetters.purge', (queue) => queue.deadLetters.purgeAll()],
  ['redriveAll', (queue) => queue.deadLetters.redriveAll()],
])('%s says that the store is not open, not that there is no such task', async (_, ask) => {
  const { open, free, clock } = setup()
  const { queue } = await open()
  await expect(ask(queue, '01a21ad3-5a0e-7000-9c0f-2f0a3b6f1c11')).rejects.toMatchObject({
    code: 'STORAGE_UNAVAILABLE',
    message: expect.stringMatching(/^.+: the store was not asked, since .*another process holds it/),
  })
  free()
  await clock.advance(1_000)
  await ask(queue, '01a21ad3-5a0e-7000-9c0f-2f0a3b6f1c11').catch(({ code }) => expect(code).toBe('TASK_NOT_FOUND'))
})
