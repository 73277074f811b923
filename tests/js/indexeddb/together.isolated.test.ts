/**
 * Tabs that write at once, while the engine aborts transactions at random moments: what each remembers of counters and lanes is
 * never taken for what is so. Everything that is kept beside the rows has to say what the rows say.
 */
import { IDBDatabase as FakeDatabase } from 'fake-indexeddb'
import 'fake-indexeddb/auto'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Lease, Settlement, TaskStore } from '../../../js/api/store.ts'
import { systemClock } from '../../../js/platform/clock.ts'
import { random128, seededDraw } from '../../../js/platform/random.ts'
import type { Lane } from '../../../js/stores/indexeddb/lane-rows.ts'
import type { TaskRow } from '../../../js/stores/indexeddb/rows.ts'
import { readState, type State } from '../../../js/stores/indexeddb/state.ts'
import { done } from '../../../js/stores/indexeddb/transact.ts'
import { indexedDbStore } from '../../../js/stores/indexeddb.ts'
import { bySize } from '../../size.ts'
import { claimOf, idOf, newTask, settlementOf } from '../store-contract/kit.ts'
import { engineAborts } from './faulty.ts'

const ROUNDS = 40
/** At once. */
const COMMANDS = 6
/** More than are written with the counters. */
const LANES = 20

const NEXT: readonly Settlement['next'][] = [
  { kind: 'succeeded' },
  { kind: 'exhausted', reason: 'max_attempts' },
  { kind: 'retry', delayMs: 1_000 },
  { kind: 'release', delayMs: 0, refund: true, park: true },
]

type Chance = (below: number) => number

function chanceOf(seed: bigint): Chance {
  const draw = seededDraw(seed)
  return (below) => Math.floor((draw() / 2 ** 32) * below)
}

/** One write transaction in eight is aborted somewhere on its way. */
function abortAtRandom(chance: Chance): () => number {
  let aborts = 0
  const { transaction } = FakeDatabase.prototype
  const spy = vi.spyOn(FakeDatabase.prototype, 'transaction').mockImplementation(function (
    this: IDBDatabase,
    ...given
  ) {
    const tx: IDBTransaction = transaction.apply(this, given)
    let steps = tx.mode === 'readwrite' && chance(8) === 0 ? 1 + chance(6) : 0
    let isOver = false
    for (const end of ['complete', 'abort']) tx.addEventListener(end, () => (isOver = true))
    const step = (): void => {
      if (isOver) return
      if (--steps > 0) return void setImmediate(step)
      aborts++
      engineAborts(tx, 'UnknownError')
    }
    if (steps > 0) setImmediate(step)
    return tx
  })
  onTestFinished(() => spy.mockRestore())
  return () => {
    spy.mockRestore()
    return aborts
  }
}

/** One command of one tab. */
async function command(store: TaskStore, owner: string, chance: Chance, leases: Lease[]): Promise<void> {
  const some = () => idOf(1 + chance(60))
  const kind = chance(20)
  if (kind < 8) {
    const origin = `https://${chance(LANES)}.test`
    const body = new Uint8Array(1 + chance(5))
    const order = chance(3) === 0 ? { orderKey: `order-${chance(2)}` } : {}
    const task = { origin, body, priority: chance(2), dueInMs: chance(2) * 5_000, home: chance(2) ? owner : null }
    const given = newTask(1 + chance(60), { ...task, ...order, idempotencyKey: `key-${chance(200)}` })
    await store.enqueue([given], chance(3) === 0 ? { owner, leaseMs: 1_000, total: 20 } : undefined)
  } else if (kind < 16) {
    const settle = leases
      .splice(0, chance(4))
      .map((lease) => settlementOf(lease, NEXT[chance(NEXT.length)] as Settlement['next']))
    const claim = claimOf({ limit: 3, leaseMs: 1_000, total: 20, perLane: 4 })
    const { claimed } = await store.turn({ owner, settle, renew: [], claim })
    leases.push(...claimed.map(({ lease }) => lease))
  } else if (kind === 16) await store.cancel(some())
  else if (kind === 17) await store.redrive([some(), some()], { spacingMs: 10, acceptDuplicateRisk: true })
  else if (kind === 18) await store.purge({ taskId: some() })
  else await (chance(2) ? store.flush() : store.unpark?.({ principal: null }))
}

async function contents(
  name: string,
): Promise<{ rows: TaskRow[]; lanes: Lane[]; state: State; bodies: IDBValidKey[] }> {
  const database = await done(indexedDB.open(`redrive-${name}`))
  const tx = database.transaction(['tasks', 'lanes', 'meta', 'bodies'])
  const [rows, apart, state, bodies] = await Promise.all([
    done<TaskRow[]>(tx.objectStore('tasks').getAll()),
    done<Lane[]>(tx.objectStore('lanes').getAll()),
    readState(tx),
    done(tx.objectStore('bodies').getAllKeys()),
  ])
  database.close()
  return { rows, lanes: [...state.lanes, ...apart], state, bodies }
}

const isLive = ({ status }: TaskRow): boolean => status === 'PENDING' || status === 'IN_FLIGHT'
/** A dead letter may be sent again, so its body takes room. */
const takesRoom = (row: TaskRow): boolean => isLive(row) || row.status === 'EXHAUSTED'

function lanesOf(rows: readonly TaskRow[]) {
  return Object.fromEntries(
    [...new Set(rows.map(({ lane }) => lane))].map((name) => {
      const own = rows.filter(({ lane }) => lane === name)
      const due = own.flatMap(({ dueAt }) => dueAt ?? [])
      const pending = own.filter(({ status }) => status === 'PENDING').length
      const inFlight = own.filter(({ status }) => status === 'IN_FLIGHT').length
      return [
        name,
        { tasks: own.length, pending, inFlight, due: due.length, nextDue: due.length ? Math.min(...due) : null },
      ]
    }),
  )
}

test.for([1n, 2n, 3n, 4n].slice(0, bySize(1, 4)))(
  'S2 counters, lanes and orders are what the rows say, seed %i',
  { timeout: 60_000 },
  async (seed) => {
    const name = `together-${random128(seededDraw(seed))}`
    const chance = chanceOf(seed)
    let now = 1_000_000
    const clock = { ...systemClock, now: () => now }
    const tabs = ['a', 'b', 'c'].map((owner) => ({ owner, store: indexedDbStore({ name, clock }) }))
    onTestFinished(async () => {
      for (const { store } of tabs) await store.close()
    })
    const aborts = abortAtRandom(chanceOf(seed + 100n))
    const leases: Lease[] = []
    for (let round = 0; round < ROUNDS; round++) {
      const commands = Array.from({ length: COMMANDS }, async () => {
        const { owner, store } = tabs[chance(tabs.length)] as (typeof tabs)[number]
        await command(store, owner, chance, leases)
      })
      // one that has lost its connection three times in a row may have been done or not
      await Promise.allSettled(commands)
      now += chance(400)
    }
    expect(aborts()).toBeGreaterThan(5)
    const { rows, lanes, state, bodies } = await contents(name)
    const count = (status: TaskRow['status']) => rows.filter((row) => row.status === status).length
    expect(state).toMatchObject({
      pending: count('PENDING'),
      inFlight: count('IN_FLIGHT'),
      succeeded: count('SUCCEEDED'),
      exhausted: count('EXHAUSTED'),
      cancelled: count('CANCELLED'),
      bytes: rows.filter(takesRoom).reduce((sum, { bodyBytes }) => sum + bodyBytes, 0),
    })
    const kept = lanes.filter(({ tasks }) => tasks > 0)
    const told = kept.map(({ name, tasks, pending, inFlight, queues, nextDue }) => {
      const due = queues.reduce((sum, queue) => sum + queue.tasks, 0)
      return [name, { tasks, pending, inFlight, due, nextDue }]
    })
    expect(Object.fromEntries(told)).toEqual(lanesOf(rows))
    for (const order of ['order-0', 'order-1']) {
      const live = rows.filter((row) => row.orderKey === order && isLive(row))
      expect(live.filter(({ behind }) => behind === 0)).toHaveLength(Math.min(1, live.length))
      expect(live.filter(({ behind, dueAt }) => behind === 1 && dueAt !== null)).toEqual([])
    }
    expect(bodies.filter((id) => !rows.some(({ taskId }) => taskId === id))).toEqual([])
  },
)
