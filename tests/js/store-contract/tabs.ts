import { expect, test } from 'vitest'
import { becomes, claimOf, idOf, idsOf, LEASE_MS, newTask, type Open, SUCCEEDED, settlementOf, setup } from './kit.ts'

/** What only some stores have: one principal for all, a leader, a rest before the page is put away. */
export function tabRules(open: Open): void {
  test('S16 nobody has said whose requests are made, until somebody does', async () => {
    const { store } = await setup(open)
    const { principals } = store
    if (!principals) return
    expect(await principals.current()).toBeUndefined()
    await principals.switchTo('ann')
    expect(await principals.current()).toBe('ann')
    await principals.switchTo(null)
    expect(await principals.current()).toBeNull()
  })

  test('S8 S16 a claim of any other principal gets nothing, and its turn does all else', async () => {
    const { store, add, turn, lease, pass, get } = await setup(open)
    const { principals } = store
    if (!principals) return
    await add({ principal: 'bob' }, {}, { dueInMs: 5_000, deadlineInMs: 10 })
    await principals.switchTo(null)
    const held = await lease()
    await principals.switchTo('ann')
    pass(11)
    const answer = await turn({ settle: [settlementOf(held, SUCCEEDED)], claim: claimOf({ principal: 'bob' }) })
    expect(answer).toMatchObject({ settled: ['applied'], claimed: [], blockedByLimit: false })
    expect(answer.ended.map(({ taskId }) => taskId)).toEqual([idOf(3)])
    expect(await get(idOf(1))).toMatchObject({ status: 'PENDING', attemptNumber: 0 })
    await principals.switchTo('bob')
    expect(idsOf((await turn({ claim: claimOf({ principal: 'bob' }) })).claimed)).toEqual([idOf(1)])
  })

  test('S8 S16 with a lease, a task of any other principal is stored without one', async () => {
    const { store, enqueue } = await setup(open)
    if (!store.principals) return
    await store.principals.switchTo('ann')
    const wish = { owner: 'runner', leaseMs: LEASE_MS }
    expect((await enqueue(newTask(1, { principal: 'bob' }), wish)).lease).toBeUndefined()
    expect((await enqueue(newTask(2, { principal: 'ann' }), wish)).lease).toBeDefined()
  })

  test('S16 all hear that the principal is another one, and not that it is the same', async () => {
    const { store, clock } = await setup(open)
    const { principals, subscribe } = store
    if (!principals || !subscribe) return
    const heard: string[] = []
    subscribe(({ kind }) => heard.push(kind))
    await principals.switchTo('ann')
    await principals.switchTo('ann')
    await clock.settle()
    expect(heard).toEqual(['principal'])
  })

  test('L3 the leader is granted to who wants it, once, and to the next when it is let go', async () => {
    const { store } = await setup(open)
    const { leader } = store
    if (!leader) return
    let granted = 0
    const count = (): void => {
      granted++
    }
    leader.want('ann', count)
    leader.want('ann', count)
    await becomes(() => granted, 1)
    leader.want('bob', count)
    await becomes(() => granted, 2)
    leader.resign()
    leader.resign()
    leader.want('bob', count)
    await becomes(() => granted, 3)
    leader.resign()
  })

  test('whatever is called after a rest works as before', async () => {
    const { store, add, claim, turn, settle } = await setup(open)
    if (!store.suspend) return
    let heard = 0
    store.subscribe?.(() => {
      heard++
    })
    await store.homes?.holdHome('tab', 60_000)
    store.suspend()
    store.suspend()
    if (store.homes?.areHeard) await becomes(() => store.homes?.live(), [])
    await store.homes?.holdHome('tab', 60_000)
    expect((await store.homes?.live()) ?? ['tab']).toEqual(['tab'])
    await add({}, {})
    const [first, second] = await claim({ limit: 2 })
    if (!first || !second) throw new Error('two are due')
    store.suspend()
    expect(await settle(first.lease, SUCCEEDED)).toBe('applied')
    expect((await turn({ renew: [second.lease] })).renewed).toEqual(['renewed'])
    expect(heard).toBeGreaterThan(0)
  })
}
