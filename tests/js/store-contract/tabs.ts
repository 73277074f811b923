import { expect } from 'vitest'
import type { TaskStore } from '../../../js/api/store.ts'
import {
  at,
  becomes,
  claimOf,
  idOf,
  idsOf,
  kitFor,
  LEASE_MS,
  newTask,
  type Open,
  partOf,
  SUCCEEDED,
  settlementOf,
  testWhere,
} from './kit.ts'

/** What only some stores have: one principal for all, a leader, a rest before the page is put away. */
export function tabRules(open: Open): void {
  const { add, claim, clock, enqueue, get, lease, pass, settle, store, turn, two } = kitFor(open)
  const principals = partOf(() => store.principals as NonNullable<TaskStore['principals']>)
  const test = testWhere(() => store.principals)
  test('S16 nobody has said whose requests are made, until somebody does', async () => {
    expect(await principals.current()).toEqual({ principal: undefined })
    await principals.switchTo('ann', at(clock.now()))
    expect(await principals.current()).toEqual({ principal: 'ann' })
    await principals.switchTo(null, at(clock.now()))
    expect(await principals.current()).toEqual({ principal: null })
  })

  test('S8 S16 a claim of any other principal gets nothing, and its turn does all else', async () => {
    await add({ principal: 'bob' }, {}, { dueInMs: 5_000, deadlineInMs: 10 })
    await principals.switchTo(null, at(clock.now()))
    const held = await lease()
    await principals.switchTo('ann', at(clock.now()))
    pass(11)
    const answer = await turn({ settle: [settlementOf(held, SUCCEEDED)], claim: claimOf({ principal: 'bob' }) })
    expect(answer).toMatchObject({ settled: ['applied'], claimed: [], blockedByLimit: false })
    expect(answer.ended.map(({ taskId }) => taskId)).toEqual([idOf(3)])
    expect(await get(idOf(1))).toMatchObject({ status: 'PENDING', attemptNumber: 0 })
    await principals.switchTo('bob', at(clock.now()))
    expect(idsOf((await turn({ claim: claimOf({ principal: 'bob' }) })).claimed)).toEqual([idOf(1)])
  })

  test('S8 S16 with a lease, a task of any other principal is stored without one', async () => {
    await principals.switchTo('ann', at(clock.now()))
    const wish = { owner: 'runner', leaseMs: LEASE_MS }
    expect((await enqueue(newTask(1, { principal: 'bob' }), wish)).lease).toBeUndefined()
    expect((await enqueue(newTask(2, { principal: 'ann' }), wish)).lease).toBeDefined()
  })

  test('S16 all hear that the principal is another one, and not that it is the same', async () => {
    const { subscribe } = store
    if (!subscribe) return
    const heard: string[] = []
    subscribe(({ kind }) => heard.push(kind))
    await principals.switchTo('ann', at(clock.now()))
    await principals.switchTo('ann', at(clock.now()))
    await clock.settle()
    expect(heard).toEqual(['principal'])
  })

  test.for<[what: string, since: number, now: number, current: string]>([
    ['younger', 1_001, 1_001, 'bob'],
    ['of the same moment', 1_000, 1_000, 'bob'],
    ['older', 999, 1_000, 'ann'],
    ['older and long on its way', 1, 900_000, 'ann'],
    ['older, by a clock that shows less than it did', 400, 999, 'bob'],
    ['older, and made before the clock was set back', 400, 1_000, 'ann'],
  ])('S16 a declaration does not replace a younger one: %s', async ([_, since, now, current]) => {
    await principals.switchTo('ann', at(1_000))
    await principals.switchTo('bob', at(since, now))
    expect(await principals.current()).toEqual({ principal: current })
  })

  test.for<[what: string, before: number, since: number, now: number]>([
    ['after a time', 1_000, 1_000, 70_000],
    ['after the clock was set back', 100_000, 50_000, 120_000],
  ])(
    'S16 a declaration held up on its way does not replace one made meanwhile: %s',
    async ([_, before, since, now]) => {
      await principals.switchTo('bob', at(60_000))
      let declared = { since: before, now: before }
      const late = principals.switchTo('ann', () => declared)
      declared = { since, now }
      await late
      expect(await principals.current()).toEqual({ principal: 'bob' })
    },
  )

  test('S16 the principal that is there may be declared anew, and an older declaration of another is refused then', async () => {
    await principals.switchTo('ann', at(1_000))
    await principals.switchTo('ann', at(2_000))
    await principals.switchTo('ann', at(500, 2_100))
    await principals.switchTo('bob', at(1_500, 2_200))
    expect(await principals.current()).toEqual({ principal: 'ann' })
    await principals.switchTo('bob', at(2_001, 2_200))
    expect(await principals.current()).toEqual({ principal: 'bob' })
  })

  test('S16 while one logs in no claim gets anything, and with its end the one who is there then', async () => {
    await principals.switchTo('ann', at(1_000))
    await add({ principal: 'ann' }, { principal: 'bob' })
    await principals.logIn('first', 30_000, () => true)
    await principals.logIn('second', 30_000, () => true)
    for (const principal of ['ann', 'bob', null]) {
      const answer = await turn({ claim: claimOf({ principal }) })
      expect(answer).toMatchObject({ claimed: [], isForeign: true })
    }
    const wish = { owner: 'runner', leaseMs: LEASE_MS }
    expect((await enqueue(newTask(3, { principal: 'ann' }), wish)).lease).toBeUndefined()
    await principals.switchTo('bob', at(2_000), 'first')
    const { principal, loginForMs = 0 } = await principals.current()
    expect(principal).toBe('bob')
    expect(loginForMs).toBeGreaterThan(0)
    expect(await claim({ principal: 'bob' })).toEqual([])
    // it fails: what was there before is declared anew, and is the older one
    await principals.switchTo('ann', at(1_000, 2_500), 'second')
    expect(await principals.current()).toEqual({ principal: 'bob' })
    expect(idsOf(await claim({ principal: 'bob' }))).toEqual([idOf(2)])
  })

  test('S16 all hear that one logs in, and that it is over, once each', async () => {
    const { subscribe } = store
    if (!subscribe) return
    const heard: string[] = []
    subscribe(({ kind }) => heard.push(kind))
    await principals.switchTo('ann', at(1_000))
    await becomes(() => heard.length, 1)
    await principals.logIn('login', 30_000, () => true)
    await principals.logIn('login', 30_000, () => true)
    await becomes(() => heard.length, 2)
    await principals.switchTo('ann', at(2_000), 'login')
    await becomes(() => heard.length, 3)
    await principals.switchTo('ann', at(3_000), 'login')
    expect(heard).toEqual(['principal', 'principal', 'principal'])
  })

  test('S16 L1 a login that is over before the store keeps it holds nothing up', async () => {
    await add({})
    let isUnderWay = true
    const late = principals.logIn('login', 30_000, () => isUnderWay)
    isUnderWay = false
    await late
    expect((await principals.current()).loginForMs).toBeUndefined()
    expect(await claim()).toHaveLength(1)
  })

  testWhere(() => store.leader)(
    'L3 the leader is granted to who wants it, once, and to the next when it is let go',
    async () => {
      const leader = partOf(() => store.leader as NonNullable<TaskStore['leader']>)
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
    },
  )

  testWhere(() => store.suspend)('whatever is called after a rest works as before', async () => {
    let heard = 0
    store.subscribe?.(() => {
      heard++
    })
    await store.homes?.holdHome('tab', 60_000)
    store.suspend?.()
    store.suspend?.()
    if (store.homes?.areHeard) await becomes(() => store.homes?.live(), [])
    await store.homes?.holdHome('tab', 60_000)
    expect((await store.homes?.live()) ?? ['tab']).toEqual(['tab'])
    await add({}, {})
    const [first, second] = await two({ limit: 2 })
    store.suspend?.()
    expect(await settle(first.lease, SUCCEEDED)).toBe('applied')
    expect((await turn({ renew: [second.lease] })).renewed).toEqual(['renewed'])
    expect(heard).toBeGreaterThan(0)
  })
}
