import { expect } from 'vitest'
import { RECORD_SCHEMA } from '../../../js/api/store.ts'
import { idOf, idsOf, kitFor, type Open, releaseIn, retryIn, SUCCEEDED, testWhere } from './kit.ts'

export function dueRules(open: Open): void {
  const { add, claim, clock, get, lease, pass, settle, store } = kitFor(open)
  const test = testWhere(() => store.due)
  test('a task that waits is due when it is asked to be, earlier or later than it was', async () => {
    await add({ dueInMs: 5_000 }, {}, { dueInMs: 5_000 })
    expect(await store.due?.([idOf(1), idOf(2)], 1_000)).toEqual(['due', 'due'])
    expect((await get(idOf(2))).dueAt).toBe(clock.now() + 1_000)
    expect(await claim()).toEqual([])
    pass(1_000)
    expect(idsOf(await claim())).toEqual([idOf(1), idOf(2)])
    expect(await store.due?.([idOf(3)], 0)).toEqual(['due'])
    expect(idsOf(await claim())).toEqual([idOf(3)])
  })

  test('no wait that a server asked for gets shorter, and one may get longer', async () => {
    await settle(await lease({}), retryIn(2_000, { serverMs: 2_000 }))
    const answeredAt = clock.now()
    pass(500)
    expect(await store.due?.([idOf(1)], 0)).toEqual(['due'])
    expect((await get(idOf(1))).dueAt).toBe(answeredAt + 2_000)
    expect(await store.due?.([idOf(1)], 9_000)).toEqual(['due'])
    expect((await get(idOf(1))).dueAt).toBe(answeredAt + 9_500)
    expect(await store.due?.([idOf(1)], 10)).toEqual(['due'])
    pass(1_500)
    expect(idsOf(await claim())).toEqual([idOf(1)])
  })

  test('a parked task goes on, and is not parked any more', async () => {
    await settle(await lease({}), releaseIn(0, { park: true }))
    expect(await store.due?.([idOf(1)], 300)).toEqual(['due'])
    expect((await get(idOf(1))).parked).toBe(false)
    expect(await store.unpark?.({})).toBe(store.unpark && 0)
    pass(300)
    expect(idsOf(await claim())).toEqual([idOf(1)])
  })

  test('S19 a task behind others of its order keeps its place, and is due as asked once it is its turn', async () => {
    const first = await lease({ orderKey: 'o' }, { orderKey: 'o' }, { orderKey: 'o', dueInMs: 60_000 })
    expect(await store.due?.([idOf(2), idOf(3)], 1_000)).toEqual(['due', 'due'])
    expect([(await get(idOf(2))).dueAt, (await get(idOf(3))).dueAt]).toEqual([null, null])
    const askedAt = clock.now()
    pass(400)
    await settle(first, SUCCEEDED)
    expect((await get(idOf(2))).dueAt).toBe(askedAt + 1_000)
    expect(await claim()).toEqual([])
    pass(600)
    const second = await lease()
    expect(second.taskId).toBe(idOf(2))
    await settle(second, SUCCEEDED)
    expect(idsOf(await claim())).toEqual([idOf(3)])
  })

  test('gone is what is not here, ended, in flight or cannot be read; each is answered in order', async () => {
    await add({})
    const { taskId } = await lease()
    await add({ dueInMs: 500 }, { schema: RECORD_SCHEMA + 1, dueInMs: 500 }, { dueInMs: 500 })
    await store.cancel(idOf(2))
    expect(await store.due?.([taskId, idOf(4), 'nobody', idOf(2), idOf(3), idOf(4)], 0)).toEqual([
      'gone',
      'due',
      'gone',
      'gone',
      'gone',
      'due',
    ])
    expect(idsOf(await claim())).toEqual([idOf(4)])
    expect(await store.due?.([], 0)).toEqual([])
  })

  test('what is due earlier than it was is told', async () => {
    if (!store.subscribe) return
    await add({ dueInMs: 500 })
    const heard: string[] = []
    store.subscribe(({ kind }) => heard.push(kind))
    await store.due?.([idOf(1)], 100)
    expect(heard).toEqual(['due'])
    await store.due?.([idOf(1)], 300)
    expect(heard).toEqual(['due'])
  })

  test.for([-1, Number.NaN, Number.POSITIVE_INFINITY, 0.5, '5'])('%o milliseconds are refused', async (inMs) => {
    await add({ dueInMs: 500 })
    const before = await get(idOf(1))
    await expect(store.due?.([idOf(1)], inMs as number)).rejects.toThrow(/due\.inMs: expected/)
    expect(await get(idOf(1))).toEqual(before)
  })
}
