/** Keys that are taken, and orders that have a task which is pending or in flight, as far as one transaction has to know. */

import type { NewTask } from '../../api/records.ts'
import { type Name, nameOf, within } from './keys.ts'
import type { TaskRow } from './rows.ts'
import { done } from './transact.ts'

type Ordered = Pick<TaskRow, 'principal' | 'orderKey'>

const named = (principal: Name, name: string | null): string => JSON.stringify([principal, name])

export class Taken {
  readonly #tasks: IDBObjectStore
  readonly #keepers = new Map<string, TaskRow>()
  readonly #orders = new Set<string>()

  constructor(tasks: IDBObjectStore) {
    this.#tasks = tasks
  }

  async loadNew(tasks: readonly NewTask[]): Promise<void> {
    await Promise.all(
      tasks.flatMap(({ idempotencyKey, orderKey = null, principal: owner }) => {
        const principal = nameOf(owner)
        return [this.#loadKeeper(principal, idempotencyKey), this.loadOrder({ principal, orderKey })]
      }),
    )
  }

  async loadOrder({ principal, orderKey }: Ordered): Promise<void> {
    if (orderKey === null) return
    const live = await done(this.#tasks.index('order').getKey(within([principal, orderKey])))
    if (live !== undefined) this.#orders.add(named(principal, orderKey))
  }

  keeperOf({ idempotencyKey, principal }: NewTask): TaskRow | undefined {
    return this.#keepers.get(named(nameOf(principal), idempotencyKey))
  }

  addKey(row: TaskRow): void {
    if (row.keptKey !== null) this.#keepers.set(named(row.principal, row.keptKey), row)
  }

  /** Whether it had one already. */
  addToOrder({ principal, orderKey }: Ordered): boolean {
    const order = named(principal, orderKey)
    const isTaken = this.#orders.has(order)
    this.#orders.add(order)
    return isTaken
  }

  async #loadKeeper(principal: Name, key: string | null): Promise<void> {
    const keeper: TaskRow | undefined =
      key === null ? undefined : await done(this.#tasks.index('key').get([key, principal]))
    if (keeper) this.addKey(keeper)
  }
}
