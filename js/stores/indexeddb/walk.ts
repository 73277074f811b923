/** Walks over rows without bound, done in pieces inside one transaction. */

import type { Tx } from '../engine/port.ts'
import type { HeldRows } from './held-rows.ts'
import { everyName, nameOf } from './keys.ts'
import type { TaskRow } from './rows.ts'
import { done } from './transact.ts'

/** Rows read at once. */
const PIECE = 256

type Work = (rows: readonly TaskRow[]) => void

/** Each lane that has tasks waiting, queue by queue. */
export function eachWaiting(tx: HeldRows, lane: string | undefined, work: Work): Promise<void> {
  const index = tx.store('tasks').index('due')
  return piecewise(
    tx,
    (from) => done(index.getAll(lane === undefined ? after(from) : withinAfter([lane], from), PIECE)),
    ({ lane: name, home, rank, dueAt, seq }) => [name, home, rank, dueAt as number, seq],
    work,
  )
}

export async function eachParked(
  tx: HeldRows,
  { principal, lane }: Parameters<Tx['eachParked']>[0],
  work: Work,
): Promise<void> {
  const index = tx.store('tasks').index('parked')
  const found: TaskRow[] = await done(index.getAll(lane ?? everyName()))
  const fits = (row: TaskRow): boolean => principal === undefined || row.principal === nameOf(principal)
  work(tx.found(found.filter((row) => row.parkedIn !== null && !row.aside && fits(row))))
}

export async function eachOf(
  tx: HeldRows,
  { taskId, principal, status }: Parameters<Tx['eachOf']>[0],
  work: Work,
): Promise<void> {
  const fits = (row: TaskRow): boolean =>
    (principal === undefined || row.principal === nameOf(principal)) && (status === undefined || row.status === status)
  const workOn = (rows: readonly TaskRow[]): void => work(rows.filter(fits))
  const tasks = tx.store('tasks')
  if (taskId === undefined) {
    return piecewise(
      tx,
      (from) => done(tasks.getAll(after(from), PIECE)),
      (row) => row.taskId,
      workOn,
    )
  }
  await tx.load([taskId])
  const row = tx.row(taskId)
  workOn(row ? [row] : [])
}

/** Walks along an index, or the tasks themselves, by rising key. */
async function piecewise(
  tx: HeldRows,
  read: (from: IDBValidKey | undefined) => Promise<TaskRow[]>,
  keyOf: (row: TaskRow) => IDBValidKey,
  work: Work,
): Promise<void> {
  for (let from: IDBValidKey | undefined; ; ) {
    const found = await read(from)
    const last = found.at(-1)
    if (last) from = keyOf(last)
    work(tx.found(found))
    tx.forgetRows()
    if (found.length < PIECE) return
  }
}

const after = (from: IDBValidKey | undefined): IDBKeyRange | null =>
  from === undefined ? null : IDBKeyRange.lowerBound(from, true)

const withinAfter = (parts: readonly IDBValidKey[], from: IDBValidKey | undefined): IDBKeyRange =>
  IDBKeyRange.bound(from ?? [...parts], [...parts, []], from !== undefined)
