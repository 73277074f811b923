/** What an alarm is set by: when, for whom, and when to look again. */
import { expect } from 'vitest'
import { MAX_MS } from '../../../js/options/check.ts'
import {
  claimOf,
  idOf,
  LEASE_MS,
  NOT_RETRYABLE,
  newTask,
  retryIn,
  SUCCEEDED,
  settlementOf,
} from '../../js/store-contract/kit.ts'
import { leaseOf, opened, overheard, type Rules, STEP, settle } from './kit.ts'

const RETENTION = { terminalMs: 1_000, maxTerminal: 100, deadLetterMs: 5_000, maxDeadLetters: 100 }

export const agenda: Rules = {
  async 'L1 the next instant is that of due work, a lease’s end, a deadline or retention, whichever is first'(storage) {
    const { store, clock } = opened(storage, { retention: RETENTION })
    const start = clock.now()
    expect(store.nextAt()).toBeNull()
    await store.enqueue([newTask(1, { dueInMs: 700, deadlineInMs: 900 })])
    expect(store.nextAt()).toBe(start + 700)
    clock.step(700)
    expect(store.nextAt(), 'what is due stays due until it is claimed').toBe(start + 700)
    const held = await leaseOf(store)
    expect(store.nextAt(), 'its lease is over').toBe(start + 700 + LEASE_MS)
    await settle(store, held, retryIn(60_000))
    expect(store.nextAt(), 'its deadline has passed').toBe(start + 901)
    clock.step(201)
    expect((await store.turn(STEP)).ended).toHaveLength(1)
    expect(store.nextAt(), 'its retention is over').toBe(start + 901 + 5_001)
    clock.step(5_000)
    await store.turn(STEP)
    expect(await store.counts()).toMatchObject({ exhausted: 1 })
    clock.step(1)
    await store.turn(STEP)
    expect(await store.counts()).toMatchObject({ exhausted: 0, purged: 1 })
    expect(store.nextAt()).toBeNull()
  },

  async 'what is more than may be kept is to be deleted now'(storage) {
    const { store, clock } = opened(storage, { retention: { ...RETENTION, maxTerminal: 0, maxDeadLetters: 0 } })
    for (const [n, next] of [SUCCEEDED, NOT_RETRYABLE].entries()) {
      await store.enqueue([newTask(n)])
      await settle(store, await leaseOf(store), next)
      expect(store.nextAt()).toBeLessThanOrEqual(clock.now() + 1)
      clock.step(1)
      await store.turn(STEP)
      expect(store.nextAt()).toBeNull()
    }
    expect(await store.counts()).toMatchObject({ purged: 2 })
  },

  async 'what is kept for ever is never to be deleted'(storage) {
    const forEver = { ...RETENTION, terminalMs: MAX_MS, deadLetterMs: MAX_MS }
    for (const next of [SUCCEEDED, NOT_RETRYABLE]) {
      const { store } = opened(storage, { retention: forEver })
      await store.enqueue([newTask(next === SUCCEEDED ? 1 : 2)])
      await settle(store, await leaseOf(store), next)
      expect(store.nextAt()).toBeNull()
    }
  },

  async 'work of a lane that is shut is not due'(storage) {
    const { store, clock } = opened(storage)
    await store.enqueue([newTask(1, { deadlineInMs: Number.POSITIVE_INFINITY })])
    const lanes = storage.sql.exec('SELECT name FROM lanes').toArray() as readonly { readonly name: string }[]
    expect(store.nextAt(['another'])).toBe(clock.now())
    expect(store.nextAt(lanes.map(({ name }) => name))).toBeNull()
  },

  async 'a held lane is due when its hold is over, a parked task not at all'(storage) {
    const { store, clock } = opened(storage)
    await store.enqueue([newTask(1, { holdLaneForMs: 400, deadlineInMs: Number.POSITIVE_INFINITY })])
    expect(store.nextAt()).toBe(clock.now() + 400)
    clock.step(400)
    await settle(store, await leaseOf(store), { kind: 'release', delayMs: 0, refund: true, park: true })
    expect(store.nextAt()).toBeNull()
    await store.unpark?.({})
    expect(store.nextAt()).toBe(clock.now())
  },

  async 'L2 an object that begins takes back what an earlier one had in flight, and a late answer to that changes nothing'(
    storage,
  ) {
    const { store, clock } = opened(storage)
    await store.enqueue([newTask(1)])
    const held = await leaseOf(store)
    store.lapse()
    expect(store.nextAt()).toBe(clock.now())
    const again = await leaseOf(store)
    expect(again.token).toBeGreaterThan(held.token)
    const late = await store.turn({ ...STEP, settle: [settlementOf(held, retryIn(1))] })
    expect(late.settled).toEqual(['stale'])
    expect((await store.history?.(idOf(1)))?.map(({ kind }) => kind)).toEqual(['lost'])
  },

  async 'S9 a clock that is set back takes the next instant along, before anything was written and after'(storage) {
    const { store, clock } = opened(storage)
    await store.enqueue([newTask(1, { dueInMs: 700 })])
    await store.turn(STEP)
    clock.step(-3_600_000)
    expect([store.nextAt(), store.owners()]).toEqual([clock.now() + 700, []])
    await store.turn(STEP)
    expect(store.nextAt()).toBe(clock.now() + 700)
    clock.step(700)
    expect(store.owners()).toEqual([null])
  },

  async 'S16 owners are those whose tasks are due, or whose lease is over'(storage) {
    const { store, clock } = opened(storage)
    await store.enqueue([
      newTask(1, { principal: 'ann' }),
      newTask(2, { principal: 'bob', dueInMs: 50 }),
      newTask(3, { principal: 'cleo', dueInMs: LEASE_MS * 2 }),
      newTask(4),
      newTask(5),
    ])
    expect([...store.owners()].sort()).toEqual(['ann', null].sort())
    await store.turn({ ...STEP, claim: claimOf() })
    await store.turn({ ...STEP, claim: claimOf({ principal: 'ann' }) })
    expect(store.owners()).toEqual([])
    clock.step(50)
    expect(store.owners()).toEqual(['bob'])
    clock.step(LEASE_MS)
    expect([...store.owners()].sort()).toEqual(['ann', 'bob', null].sort())
  },

  async 'whoever arms the alarm is told of each change before anything is awaited, and of nothing else'(storage) {
    let told = 0
    const { store, clock } = opened(storage, { wrote: () => told++ })
    const tells = (call: () => unknown): number => {
      told = 0
      call()
      return told
    }
    expect(tells(() => store.enqueue([newTask(1, { dueInMs: 5 })]))).toBe(1)
    expect(
      tells(() => store.enqueue([newTask(1)])),
      'a duplicate',
    ).toBe(0)
    for (const read of [() => store.get(idOf(1)), () => store.counts(), () => store.nextAt(), () => store.owners()]) {
      expect(tells(read)).toBe(0)
    }
    expect(
      tells(() => store.turn(STEP)),
      'a turn that finds nothing',
    ).toBe(0)
    clock.step(5)
    expect(tells(() => store.turn({ ...STEP, claim: claimOf() }))).toBe(1)
    expect(tells(() => store.cancel(idOf(1)))).toBe(1)
    expect(tells(() => store.purgeAll())).toBe(1)
    expect(tells(() => store.purgeAll())).toBe(0)
  },

  async 'S1 an enqueue resolves only when the storage says that it survives'(storage) {
    let survives = (): void => {}
    const synced = new Promise<void>((resolve) => {
      survives = resolve
    })
    const { store } = opened({ ...overheard(storage, () => {}), sync: () => synced })
    let resolved = false
    const asked = store.enqueue([newTask(1)]).then((outcomes) => {
      resolved = true
      return outcomes
    })
    await storage.sync()
    expect([resolved, (await store.counts()).pending]).toEqual([false, 1])
    survives()
    expect(await asked).toMatchObject([{ outcome: 'stored' }])
  },

  async 'who listens hears of due tasks, of leases and of ends, each by itself, until it stops'(storage) {
    const { store } = opened(storage)
    const heard: string[] = []
    const stop = store.subscribe?.(({ kind, taskId = '' }) => heard.push(`${kind} ${taskId}`.trim()))
    await store.enqueue([newTask(1)])
    await settle(store, await leaseOf(store), SUCCEEDED)
    stop?.()
    await store.enqueue([newTask(2)])
    expect(heard).toEqual(['due', `changed ${idOf(1)}`, `settled ${idOf(1)}`])
  },
}
