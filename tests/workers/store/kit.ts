/** What the tests of this store share; the rest of their words are those of the contract's. */

import type { Lease, Settlement, Step, TaskStore } from '../../../js/api/store.ts'
import { type DurableObjectStore, durableObjectStore, type ObjectStorage } from '../../../js/stores/durable-object.ts'
import { type FakeClock, fakeClock } from '../../../js/testing/clock.ts'
import { claimOf, settlementOf } from '../../js/store-contract/kit.ts'
import type { TestStorage } from './worker.ts'

/** A sentence each, and what shows it, in an object of its own. */
export type Rules = Readonly<Record<string, (storage: TestStorage) => Promise<void>>>

export const STEP: Step = { owner: 'runner', settle: [], renew: [], claim: null }

export function opened(
  storage: ObjectStorage,
  given: Partial<Parameters<typeof durableObjectStore>[0]> = {},
): { readonly store: DurableObjectStore; readonly clock: FakeClock } {
  const clock = fakeClock()
  return { store: durableObjectStore({ storage, clock, ...given }), clock }
}

/** The same storage, and what is asked of it is heard first. */
export function overheard(
  storage: TestStorage,
  hear: (sql: string, values: readonly unknown[]) => void,
): ObjectStorage {
  return {
    sql: {
      exec(sql, ...values) {
        hear(sql, values)
        return storage.sql.exec(sql, ...values)
      },
    },
    transactionSync: (work) => storage.transactionSync(work),
    sync: () => storage.sync(),
  }
}

export async function leaseOf(store: TaskStore): Promise<Lease> {
  const { claimed } = await store.turn({ ...STEP, claim: claimOf({ limit: 1 }) })
  if (!claimed[0]) throw new Error('nothing was due')
  return claimed[0].lease
}

export async function settle(store: TaskStore, lease: Lease, next: Settlement['next']): Promise<void> {
  await store.turn({ ...STEP, settle: [settlementOf(lease, next)] })
}

/** Everything in the storage, as it lies there. */
export function contents(storage: ObjectStorage): string {
  const tables = storage.sql
    .exec("SELECT name, sql FROM sqlite_schema WHERE name NOT LIKE '\\_cf%' ESCAPE '\\'")
    .toArray()
  const rows = (tables as readonly { readonly name: string; readonly sql: string | null }[])
    .filter(({ sql }) => sql?.startsWith('CREATE TABLE'))
    .map(({ name }) => [name, storage.sql.exec(`SELECT * FROM "${name}"`).toArray()])
  return JSON.stringify([tables, rows], (_, value) =>
    value instanceof ArrayBuffer ? [...new Uint8Array(value)] : value,
  )
}

/** The error that `work` rejects with. */
export async function failureOf(work: Promise<unknown>): Promise<Error & { readonly code?: string }> {
  const nothing = Symbol('nothing')
  const error = await work.then(
    () => nothing,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof Error)) throw new Error('it did not fail')
  return error
}
