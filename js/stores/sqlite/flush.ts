/** Makes waiting tasks due, some at a time: of all that a file may have, one step would keep the process from everything else. */

import { setImmediate } from 'node:timers/promises'
import { flushRows } from '../engine/control.ts'
import { LIMIT, where } from '../sql/database.ts'
import { rowFound } from '../sql/rows.ts'
import { WAITING } from '../sql/tables.ts'
import type { FileTransaction } from './transaction.ts'

/** Tasks of one step, each of which may have a large record. */
const AT_ONCE = 32

/** Where a task stands among those that wait. */
interface Place {
  readonly lane: string
  readonly dueAt: number
  readonly row: number
}

export async function flush(
  file: { write<T>(work: (tx: FileTransaction) => T): Promise<T> },
  lane?: string,
): Promise<number> {
  let changed = 0
  let last: Place | undefined
  for (;;) {
    const part = await file.write((tx) => {
      const places = placesAfter(tx, last, lane)
      const rows = places.flatMap(({ row }) => rowFound(tx.database, 'SELECT * FROM tasks WHERE row = ?', row) ?? [])
      return { places, count: flushRows(tx, rows) }
    })
    changed += part.count
    if (part.places.length < AT_ONCE) return changed
    last = part.places.at(-1)
    await setImmediate()
  }
}

/** The next that wait. A task that was made due stands before where it stood. */
function placesAfter({ database, now }: FileTransaction, last: Place | undefined, lane?: string): readonly Place[] {
  const first: Place = { lane: lane ?? '', dueAt: lane === undefined ? Number.NEGATIVE_INFINITY : now, row: 0 }
  const from = last ?? first
  const { sql, values } = where({ 'lane = ?': lane }, WAITING)
  return database.all<Place>(
    `SELECT lane, dueAt, row FROM tasks INDEXED BY tasks_soonest ${sql} AND (lane, dueAt, row) > (?, ?, ?)
      ORDER BY lane, dueAt, row ${LIMIT}`,
    ...values,
    from.lane,
    from.dueAt,
    from.row,
    AT_ONCE,
  )
}
