/** Several tabs on one database: what each hears of the others, and what becomes of those that die. */
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { Hint, TaskStore } from '../../../js/api/store.ts'
import { done } from '../../../js/stores/indexeddb/transact.ts'
import { fakeClock } from '../../../js/testing/clock.ts'
import { at, claimOf, idOf, newTask, retryIn, SUCCEEDED, settlementOf, UNSENT } from '../store-contract/kit.ts'
import { FakeBrowser, type FakeTab, idle } from './fake-locks.ts'
import { edit, freshName, openInOtherTab, openStore } from './setup.ts'

afterEach(() => {
  vi.unstubAllGlobals()
})

const step = { owner: 'runner', settle: [], renew: [], claim: claimOf() }

/** Each its own modules and, with `browser`, its own locks. */
async function openTab(name: string, browser: FakeBrowser, clock = fakeClock()): Promise<[TaskStore, FakeTab]> {
  const locks = browser.tab()
  vi.stubGlobal('navigator', { locks })
  return [await openInOtherTab(name, { clock }), locks]
}

/** Two tabs of one browser. */
async function openTwo() {
  const [name, browser] = [freshName(), new FakeBrowser()]
  const [one, locks] = await openTab(name, browser)
  const [other, otherLocks] = await openTab(name, browser)
  return { name, browser, one, locks, other, otherLocks }
}

function listenTo(store: TaskStore): Hint[] {
  const heard: Hint[] = []
  store.subscribe?.((hint) => heard.push(hint))
  return heard
}

describe('hints', () => {
  test('L3 another tab hears once what was done, and another store of this page too', async () => {
    const name = freshName()
    const [doing, beside, other] = [openStore(name), openStore(name), await openInOtherTab(name)]
    const heard = [doing, beside, other].map(listenTo)
    await doing.enqueue([newTask(1)])
    await doing.cancel(idOf(1))
    const hints = [{ kind: 'due' }, { kind: 'settled', taskId: idOf(1) }]
    await expect.poll(() => heard).toEqual([hints, hints, hints])
    await idle()
    expect(heard).toEqual([hints, hints, hints])
  })

  test('nothing is heard of a transaction that was not done', async () => {
    const store = openStore(freshName())
    const heard = listenTo(store)
    await expect(store.enqueue([newTask(1), newTask(2, { taskId: null as never })])).rejects.toThrow()
    await idle()
    expect(heard).toEqual([])
  })

  test('S16 a principal that was switched to in one tab is so in all', async () => {
    const name = freshName()
    const [one, other] = [openStore(name), await openInOtherTab(name)]
    await other.enqueue([newTask(1, { principal: 'ann' })])
    const heard = listenTo(other)
    await one.principals?.switchTo('bob', at(1))
    await expect.poll(() => heard).toEqual([{ kind: 'principal' }])
    expect((await other.turn({ ...step, claim: claimOf({ principal: 'ann' }) })).claimed).toEqual([])
    expect(await other.principals?.current()).toEqual({ principal: 'bob' })
  })
})

describe('a login', () => {
  const isUnderWay = () => true
  const claimed = async (store: TaskStore) => (await store.turn({ ...step, owner: 'other' })).claimed.length

  test.each(['dies', 'is put away'])('L3 S16 whose tab %s is over at once: the others hear of it', async (how) => {
    const { one: store, locks, other } = await openTwo()
    await other.enqueue([newTask(1)])
    const heard = listenTo(other)
    await store.principals?.logIn('login', 30_000, isUnderWay)
    await expect.poll(() => heard).toEqual([{ kind: 'principal' }])
    expect(await other.principals?.current()).toEqual({ principal: undefined, loginForMs: Number.POSITIVE_INFINITY })
    expect(await claimed(other)).toBe(0)
    await idle()
    heard.length = 0
    if (how === 'dies') locks.die()
    else store.suspend?.()
    await expect.poll(() => heard).toContainEqual({ kind: 'principal' })
    expect(await other.principals?.current()).toEqual({ principal: undefined })
    expect(await claimed(other)).toBe(1)
  })

  test('L3 S16 that a dead tab has left is over for a page that is opened later', async () => {
    const [name, browser] = [freshName(), new FakeBrowser()]
    const [store, locks] = await openTab(name, browser)
    await store.enqueue([newTask(1)])
    await store.principals?.logIn('login', 30_000, isUnderWay)
    locks.die()
    const [other] = await openTab(name, browser)
    const heard = listenTo(other)
    expect(await other.principals?.current()).toMatchObject({ loginForMs: Number.POSITIVE_INFINITY })
    await expect.poll(() => heard).toContainEqual({ kind: 'principal' })
    expect(await claimed(other)).toBe(1)
  })

  test('L3 S16 whose tab is alive goes on, whatever its tab does, and its end is heard where no hint of it is', async () => {
    vi.stubGlobal('BroadcastChannel', undefined)
    const { one: store, other } = await openTwo()
    await store.enqueue([newTask(1)])
    await store.principals?.logIn('login', 30_000, isUnderWay)
    await store.turn({ ...step, claim: null })
    const heard = listenTo(other)
    expect(await other.principals?.current()).toMatchObject({ loginForMs: Number.POSITIVE_INFINITY })
    await idle()
    expect(await claimed(other)).toBe(0)
    await store.principals?.switchTo(null, at(1), 'login')
    await expect.poll(() => heard).toContainEqual({ kind: 'principal' })
    expect(await claimed(other)).toBe(1)
  })

  test('S16 that is put away while it waits for its lock leaves no mark', async () => {
    const [name, browser] = [freshName(), new FakeBrowser()]
    const [store, locks] = await openTab(name, browser)
    let isThere = true
    const late = store.principals?.logIn('login', 30_000, () => isThere)
    isThere = false
    store.suspend?.()
    await late
    expect(await store.principals?.current()).toEqual({ principal: undefined })
    await idle()
    expect(browser.held.filter(({ tab }) => tab === locks)).toEqual([])
  })

  test('L2 S16 where there are no locks counts for its time, and for longer where it is renewed', async () => {
    vi.stubGlobal('navigator', {})
    const clock = fakeClock()
    const name = freshName()
    const [store, other] = [openStore(name, { clock }), await openInOtherTab(name, { clock })]
    await store.enqueue([newTask(1)])
    await store.principals?.logIn('login', 30_000, isUnderWay)
    await clock.advance(20_000)
    expect(await other.principals?.current()).toEqual({ principal: undefined, loginForMs: 10_000 })
    await store.principals?.logIn('login', 30_000, isUnderWay)
    await clock.advance(20_000)
    expect(await claimed(other)).toBe(0)
    await clock.advance(10_000)
    expect(await other.principals?.current()).toEqual({ principal: undefined })
    expect(await claimed(other)).toBe(1)
  })

  test('S20 that other code has written, and that has no end, is none', async () => {
    const name = freshName()
    const store = openStore(name)
    await store.enqueue([newTask(1)])
    await edit(name, async (tx) => {
      const meta = tx.objectStore('meta')
      const [state] = await done(meta.index('only').getAll())
      meta.put({ ...state, logins: { endless: 2 ** 52, text: '9', none: null } }, ['state', state.version])
    })
    const other = await openInOtherTab(name)
    expect(await other.principals?.current()).toEqual({ principal: undefined })
    expect(await claimed(other)).toBe(1)
  })
})

test('S3 S4 tabs that claim at once never get the same task', async () => {
  const name = freshName()
  const tabs = [openStore(name), await openInOtherTab(name), await openInOtherTab(name)]
  await tabs[0]?.enqueue(Array.from({ length: 30 }, (_, i) => newTask(i + 1)))
  const rounds = await Promise.all(
    Array.from({ length: 12 }, (_, i) =>
      tabs[i % 3]?.turn({ ...step, owner: `tab ${i % 3}`, claim: claimOf({ limit: 3, total: 20 }) }),
    ),
  )
  const leases = rounds.flatMap((turn) => turn?.claimed.map(({ lease }) => lease) ?? [])
  expect(new Set(leases.map(({ taskId }) => taskId)).size).toBe(20)
  expect(leases.map(({ token }) => token).sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, i) => i + 1))
  expect(await tabs[1]?.counts()).toMatchObject({ pending: 10, inFlight: 20 })
})

describe('leases of a tab that dies', () => {
  test('L3 are taken back as soon as it is heard, long before they run out', async () => {
    const { one: dying, locks, other } = await openTwo()
    await dying.enqueue([newTask(1), newTask(2, { idempotencyKey: null })])
    expect((await dying.turn({ ...step, owner: 'dying' })).claimed).toHaveLength(2)
    const heard = listenTo(other)
    expect((await other.turn({ ...step, owner: 'other' })).claimed).toEqual([])
    await idle()
    heard.length = 0
    locks.die()
    await expect.poll(() => heard).toContainEqual({ kind: 'due' })
    const { claimed, ended } = await other.turn({ ...step, owner: 'other' })
    expect(claimed.map(({ lease }) => [lease.taskId, lease.token])).toEqual([[idOf(1), 3]])
    expect(ended).toMatchObject([{ taskId: idOf(2), reason: 'outcome_unknown' }])
  })

  test.each(['heard', 'not heard'])(
    'L3 so are those that it was given of tasks it had %s of, when it remembered that nothing waits',
    async (how) => {
      const [name, browser] = [freshName(), new FakeBrowser()]
      const [dying, locks] = await openTab(name, browser)
      const hints = listenTo(dying)
      expect((await dying.turn({ ...step, owner: 'dying' })).claimed).toEqual([])
      if (how === 'not heard') vi.stubGlobal('BroadcastChannel', undefined)
      const [other] = await openTab(name, browser)
      await other.enqueue([newTask(1)])
      if (how === 'heard') await expect.poll(() => hints).toContainEqual({ kind: 'due' })
      expect((await dying.turn({ ...step, owner: 'dying' })).claimed).toHaveLength(1)
      await other.turn({ ...step, owner: 'other' })
      await idle()
      locks.die()
      await idle()
      expect((await other.turn({ ...step, owner: 'other' })).claimed).toHaveLength(1)
    },
  )

  test.each(['stores something before it looks', 'fails to look at first'])(
    'L3 are taken back too by a tab that %s',
    async (how) => {
      const { one: dying, locks, other } = await openTwo()
      await dying.enqueue([newTask(1)])
      expect((await dying.turn({ ...step, owner: 'dying' })).claimed).toHaveLength(1)
      await other.turn({ ...step, owner: 'other' })
      locks.die()
      await idle()
      if (how === 'stores something before it looks') await other.enqueue([newTask(2, { dueInMs: 1e6 })])
      else await expect(other.turn({ ...step, owner: 'other', settle: [null as never] })).rejects.toThrow()
      const { claimed } = await other.turn({ ...step, owner: 'other' })
      expect(claimed.map(({ task }) => task.taskId)).toEqual([idOf(1)])
    },
  )

  test('L3 are taken back too by a tab that is opened only afterwards', async () => {
    const [name, browser] = [freshName(), new FakeBrowser()]
    const [dying, locks] = await openTab(name, browser)
    await dying.enqueue([newTask(1)], { owner: 'dying', leaseMs: 1e6 })
    locks.die()
    const [other] = await openTab(name, browser)
    const heard = listenTo(other)
    expect((await other.turn({ ...step, owner: 'other' })).claimed).toEqual([])
    await expect.poll(() => heard).toContainEqual({ kind: 'due' })
    expect((await other.turn({ ...step, owner: 'other' })).claimed).toHaveLength(1)
  })

  test('S3 are left to a tab that lives, whatever others do', async () => {
    const { name, browser, one: living, other, otherLocks } = await openTwo()
    await living.enqueue([newTask(1), newTask(2)])
    const { claimed } = await living.turn({ ...step, owner: 'living', claim: claimOf({ limit: 1 }) })
    await other.turn({ ...step, owner: 'other' })
    otherLocks.die()
    await idle()
    const [third] = await openTab(name, browser)
    for (let i = 0; i < 3; i++) {
      const { claimed: late } = await third.turn({ ...step, owner: 'third' })
      expect(late.map(({ task }) => task.taskId)).not.toContain(claimed[0]?.task.taskId)
      await idle()
    }
    const settle = claimed.map(({ lease }) => settlementOf(lease, retryIn(0)))
    expect((await living.turn({ ...step, owner: 'living', settle })).settled).toEqual(['applied'])
  })

  test('S3 are its own again when it has only rested', async () => {
    const { one: resting, other } = await openTwo()
    await resting.enqueue([newTask(1)])
    const { claimed } = await resting.turn({ ...step, owner: 'resting' })
    await other.turn({ ...step, owner: 'other' })
    resting.suspend?.()
    const renew = claimed.map(({ lease }) => lease)
    expect((await resting.turn({ ...step, owner: 'resting', renew })).renewed).toEqual(['renewed'])
    await idle()
    for (let i = 0; i < 2; i++) expect((await other.turn({ ...step, owner: 'other' })).claimed).toEqual([])
  })

  test('no lock is held once nothing is in flight', async () => {
    const { name, browser, one, other } = await openTwo()
    const { lease } = (await one.enqueue([newTask(1)], { owner: 'one', leaseMs: 1e6 }))[0] ?? {}
    if (!lease) throw new Error('it was free')
    await other.turn({ ...step, owner: 'other' })
    expect(browser.names('held')).toEqual([`redrive/${name}/one!`])
    await one.turn({ ...step, owner: 'one', claim: null, settle: [settlementOf(lease, SUCCEEDED)] })
    await other.turn({ ...step, owner: 'other' })
    await idle()
    expect([browser.names('held'), browser.names('queued')]).toEqual([[], []])
    expect(await guardsIn(name)).toEqual({})
  })

  test('leases that end in whatever way leave no guard behind', async () => {
    const [name, browser] = [freshName(), new FakeBrowser()]
    const [store] = await openTab(name, browser)
    await store.enqueue(Array.from({ length: 5 }, (_, i) => newTask(i + 1)))
    const { claimed } = await store.turn({ ...step, owner: 'one' })
    expect(await guardsIn(name)).toEqual({ one: 5 })
    const nexts = [SUCCEEDED, retryIn(0), { kind: 'release', delayMs: 0, refund: true } as const]
    const settle = nexts.map((next, i) => settlementOf(claimed[i]?.lease as never, next, { log: UNSENT }))
    await store.purge({ taskId: idOf(4) })
    await store.cancel(idOf(5))
    expect(await guardsIn(name)).toEqual({ one: 4 })
    const last = settlementOf(claimed[4]?.lease as never, retryIn(0))
    await store.turn({ ...step, owner: 'one', claim: null, settle: [...settle, last] })
    expect(await guardsIn(name)).toEqual({})
  })
})

const guardsIn = (name: string): Promise<unknown> =>
  edit(name, async (tx) => {
    const { guards } = await done(tx.objectStore('meta').get(IDBKeyRange.bound(['state'], ['state', []])))
    return guards
  })
