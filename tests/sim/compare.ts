/** The store as it is beside the book: every task where it should be, none that should not be there, counters that add up. */

import type { StoredTask, TaskStore } from '../../js/api/store.ts'
import type { Book } from './book.ts'

const PAGE = 1_000

export async function compare(book: Book, store: TaskStore): Promise<void> {
  const counts = await store.counts()
  const { pending, inFlight, succeeded, exhausted, cancelled, purged } = counts
  const sum = pending + inFlight + succeeded + exhausted + cancelled + purged
  book.expect(sum === book.accepted, 'S2', () => `${book.accepted} accepted, ${JSON.stringify(counts)}`)
  book.expect(purged === book.purged, 'S2', () => `${book.purged} purged, ${JSON.stringify(counts)}`)
  const rows = await allOf(store)
  for (const known of book.tasks.values()) {
    const { taskId, status } = known
    const row = rows.get(taskId)
    rows.delete(taskId)
    if (status === 'PURGED') {
      book.expect(!row, 'S2', () => `${taskId} was purged, and is ${row?.status}`)
      continue
    }
    if (!row) {
      book.fail('S1', `${taskId} ${status} is gone`)
      continue
    }
    const id = status === 'EXHAUSTED' || row.status === 'EXHAUSTED' ? 'S13' : 'S14'
    const fits = row.status === status || (book.isLoose(known) && row.status === 'PENDING')
    book.expect(fits, id, () => `${taskId} is ${row.status} in the store, ${status} by what it said`)
    book.expect(
      row.idempotencyKey === known.key,
      'S5',
      () => `${taskId} has the key ${row.idempotencyKey}, not ${known.key}`,
    )
  }
  for (const taskId of rows.keys()) book.fail('S2', `${taskId} is in the store, and was never taken`)
  for (const taskId of book.acknowledged) {
    book.expect(book.tasks.has(taskId), 'S1', () => `${taskId} was acknowledged, and is unknown`)
  }
}

/** Every row, by its id. */
export async function allOf(store: TaskStore): Promise<Map<string, StoredTask>> {
  const rows = new Map<string, StoredTask>()
  for (let cursor: string | undefined; ; ) {
    const page = await store.list({ limit: PAGE, ...(cursor === undefined ? {} : { cursor }) })
    for (const task of page.tasks) rows.set(task.taskId, task)
    if (page.cursor === undefined) return rows
    cursor = page.cursor
  }
}
