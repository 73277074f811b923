// A service says that its store gets full, and that it is not safe, before a task is refused or lost.
import { expect, test } from 'vitest'
import type { StoreRoom } from '../../../js/api/store.ts'
import { memoryStore } from '../../../js/stores/memory.ts'
import { fakeClock } from '../../../js/testing.ts'
import { json } from './program.ts'
import { setup } from './service-setup.ts'

async function filling(limits: { readonly capacity?: number; readonly capacityBytes?: number } = {}) {
  const clock = fakeClock()
  const room: { -readonly [field in keyof StoreRoom]: StoreRoom[field] } = {
    of: 'disk',
    usedBytes: 0,
    limitBytes: 1_000,
  }
  const store = Object.assign(memoryStore({ clock, everyone: true }), { room: async () => room })
  const { log, ask, post } = await setup({ store, clock, role: 'api', ...limits })
  const look = async () => {
    await clock.advance(15_000)
    return log.filter(({ event }) => event === 'store_filling').map(({ resource }) => resource)
  }
  const create = async (body: string): Promise<string> => {
    const answer = await post('/retry-tasks', { targetUrl: 'https://api.example.com', method: 'POST', body })
    return (await json(answer)).taskId as string
  }
  const numbers = async () => (await ask('/metrics')).text()
  return { room, log, ask, look, create, numbers }
}

test('a disk that is nine tenths full is reported once, and again only when it was less meanwhile', async () => {
  const { room, look, log } = await filling()
  const seen: number[] = []
  for (const used of [899, 900, 950, 1_000, 899, 900, 0]) {
    room.usedBytes = used
    seen.push((await look()).length)
  }
  expect(seen).toEqual([0, 1, 1, 1, 1, 2, 2])
  expect(log.find(({ event }) => event === 'store_filling')).toMatchObject({
    ...{ level: 'warn', resource: 'disk_bytes', used: 900, limit: 1_000 },
    message: expect.stringContaining('make room on the disk'),
  })
})

test.for([
  ['tasks', { capacity: 10 }, [8, 9], 9],
  // 20 bytes have no room for what has ended
  ['body_bytes', { capacityBytes: 20 }, [8, 9], 0],
] as const)(
  '%s are reported at nine tenths of their limit, and counted',
  async ([resource, limits, [before, at], ended]) => {
    const { ask, look, create, numbers } = await filling(limits)
    const ids: string[] = []
    while (ids.length < before) ids.push(await create('ab'))
    expect(await look()).toEqual([])
    while (ids.length < at) ids.push(await create('ab'))
    expect(await look()).toEqual([resource])
    const [used, limit] = resource === 'tasks' ? [9, 10] : [18, 20]
    expect(await numbers()).toMatch(`redrive_store_used{partition="0",resource="${resource}"} ${used}\n`)
    expect(await numbers()).toMatch(`redrive_store_limit{partition="0",resource="${resource}"} ${limit}\n`)
    for (const id of ids) await ask(`/retry-tasks/${id}`, { method: 'DELETE' })
    expect(await look()).toEqual([resource])
    expect(await numbers()).toMatch(`redrive_store_used{partition="0",resource="ended_tasks"} ${ended}\n`)
    expect(await numbers()).not.toMatch('redrive_store_limit{partition="0",resource="ended_tasks"}')
  },
)

test('a limit that is taken away is not shown any more', async () => {
  const { room, look, numbers } = await filling()
  await look()
  expect(await numbers()).toMatch('redrive_store_limit{partition="0",resource="disk_bytes"} 1000\n')
  delete room.limitBytes
  await look()
  expect(await numbers()).not.toMatch('redrive_store_limit{partition="0",resource="disk_bytes"}')
  expect(await numbers()).toMatch('redrive_store_used{partition="0",resource="disk_bytes"} 0\n')
})

test('a store that may lose tasks makes the service unready, with the reason, until it may not', async () => {
  const { room, ask } = await filling()
  const ready = async () => {
    const answer = await ask('/readyz')
    return [answer.status, await json(answer)]
  }
  const checks = { store: true, runner: true, draining: false }
  expect(await ready()).toEqual([200, { checks }])
  room.unsafe = 'maxmemory-policy is allkeys-lru'
  expect(await ready()).toEqual([503, { checks: { ...checks, store: false }, reason: room.unsafe }])
  delete room.unsafe
  expect(await ready()).toEqual([200, { checks }])
})
