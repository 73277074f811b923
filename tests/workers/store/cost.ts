/** What a step asks of the storage: rows are what Cloudflare bills. */
import { expect } from 'vitest'
import { claimOf, newTask, retryIn, SUCCEEDED } from '../../js/store-contract/kit.ts'
import { leaseOf, opened, overheard, type Rules, STEP, settle } from './kit.ts'
import type { TestStorage } from './worker.ts'

/** The same storage, and how many rows were written in it, those of indexes too. */
function counted(storage: TestStorage) {
  const rows = { written: 0 }
  const own = overheard(storage, () => {})
  const exec: typeof own.sql.exec = (sql, ...values) => {
    const cursor = storage.sql.exec(sql, ...values)
    return {
      toArray: () => cursor.toArray(),
      get rowsWritten() {
        rows.written += cursor.rowsWritten
        return cursor.rowsWritten
      },
    }
  }
  return { rows, storage: { ...own, sql: { exec } } }
}

export const cost: Rules = {
  async 'a task of one retry writes as many rows as the decision record says'(given) {
    const { rows, storage } = counted(given)
    const { store, clock } = opened(storage)
    await store.enqueue([newTask(99, { dueInMs: 3_600_000 })])
    const leases = {
      held: { taskId: '', token: 0, forMs: 0 },
      take: async () => {
        leases.held = await leaseOf(store)
      },
    }
    const written = async (work: () => Promise<unknown>): Promise<number> => {
      rows.written = 0
      await work()
      return rows.written
    }
    const enqueue = await written(() => store.enqueue([newTask(1, { body: new Uint8Array(100) })]))
    const idle = await written(() => store.turn(STEP))
    const claim = await written(() => leases.take())
    const retry = await written(() => settle(store, leases.held, retryIn(5)))
    clock.step(5)
    const again = await written(() => leases.take())
    const success = await written(() => settle(store, leases.held, SUCCEEDED))
    expect({ enqueue, idle, claim, retry, again, success }).toEqual({
      enqueue: 15,
      idle: 0,
      claim: 9,
      retry: 11,
      again: 8,
      success: 9,
    })
  },

  async 'no statement over tasks walks them all'(storage) {
    const asked: [string, readonly unknown[]][] = []
    const { store } = opened(
      overheard(storage, (sql, values) => asked.push([sql, values])),
      {},
    )
    // what is done once, where the layout is brought up, may
    store.migrate()
    asked.length = 0
    await store.enqueue([newTask(1), newTask(2, { orderKey: 'a' }), newTask(3, { orderKey: 'a' })])
    const { claimed } = await store.turn({ ...STEP, claim: claimOf({ skipHomes: ['elsewhere'] }) })
    for (const { lease } of claimed) await settle(store, lease, SUCCEEDED)
    store.nextAt()
    store.owners()
    // it would be planned anew each time
    for (const [sql] of asked) expect(sql).not.toContain('LIMIT ?')
    const ofTasks = asked.filter(([sql]) => /\b(FROM|UPDATE) tasks\b/.test(sql))
    expect(ofTasks.length).toBeGreaterThan(10)
    for (const [sql, values] of ofTasks) {
      const plan = storage.sql.exec(`EXPLAIN QUERY PLAN ${sql}`, ...(values as never[])).toArray()
      const steps = plan
        .map((row) => (row as { readonly detail: string }).detail)
        .filter((step) => /\btasks\b/.test(step))
      for (const step of steps) {
        expect(step).toMatch(/^SEARCH tasks|^SCAN tasks USING COVERING INDEX tasks_leases$/)
        expect(step).not.toContain('tasks_own')
      }
    }
  },
}
