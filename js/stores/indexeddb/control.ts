/** What users ask for: cancel, redrive, flush, unpark, purge. What is without bound is done in pieces of one transaction. */

import { RECORD_SCHEMA, type TaskStore } from '../../api/store.ts'
import type { ExhaustedReason } from '../../api/task.ts'
import { orderName, redriveDeadline } from '../engine/rules.ts'
import { become, endUntold, erase, expiring, note } from './change.ts'
import { everyName, nameOf, shownName, within } from './keys.ts'
import { done } from './request.ts'
import { storedTask, type TaskRow } from './rows.ts'
import type { Transaction } from './transaction.ts'

/** Rows read at once. */
const PIECE = 256

export async function cancel(
  tx: Transaction,
  taskId: string,
  as?: ExhaustedReason,
): Promise<'cancelled' | 'requested' | 'gone'> {
  const [row] = await tx.rows([taskId])
  if (!row || !storedTask(row, 0)) return 'gone'
  if (row.status === 'IN_FLIGHT') {
    row.cancelAsked = true
    tx.save(row)
    tx.hint('cancelled', taskId)
    return 'requested'
  }
  if (row.status !== 'PENDING') return 'gone'
  endUntold(tx, row, as)
  return 'cancelled'
}

type RedriveOptions = Parameters<TaskStore['redrive']>[1]

export async function redrive(
  tx: Transaction,
  taskIds: readonly string[],
  options: RedriveOptions,
): Promise<('redriven' | 'key_expired' | 'gone')[]> {
  const rows = await tx.rows(taskIds)
  const orders = await liveOrders(tx, rows)
  let back = 0
  return rows.map((row) => {
    const task = row && storedTask(row, 0)
    if (!row || !task || row.status !== 'EXHAUSTED') return 'gone'
    const policy = options.policies?.find(({ policyId }) => policyId === task.policy.policyId) ?? task.policy
    const deadline = redriveDeadline(row, policy, options.acceptDuplicateRisk, tx.now)
    if (!deadline) return 'key_expired'
    row.policy = policy
    const order = orderOf(row)
    revive(tx, row, deadline, tx.now + back++ * options.spacingMs, order !== undefined && orders.has(order))
    if (order !== undefined) orders.add(order)
    return 'redriven'
  })
}

const orderOf = ({ principal, orderKey }: TaskRow): string | undefined =>
  orderKey === null ? undefined : orderName(shownName(principal), orderKey)

/** Orders of these rows that have a task which is pending or in flight. */
async function liveOrders(tx: Transaction, rows: readonly (TaskRow | undefined)[]): Promise<Set<string>> {
  const index = tx.store('tasks').index('order')
  const found = await Promise.all(
    rows.map(async (row) => {
      const order = row && orderOf(row)
      if (!row || order === undefined) return []
      const live = await done(index.getKey(within([row.principal, row.orderKey as string])))
      return live === undefined ? [] : [order]
    }),
  )
  return new Set(found.flat())
}

/** Behind what came meanwhile. */
function revive(
  tx: Transaction,
  row: TaskRow,
  deadline: NonNullable<ReturnType<typeof redriveDeadline>>,
  at: number,
  isBehind: boolean,
): void {
  become(tx, row, 'PENDING')
  row.seq = ++tx.state.lastSeq
  row.reason = null
  row.attemptNumber = 0
  note(tx, row, 'redriven')
  row.refunds = 0
  row.phase = -1
  row.previousDelayMs = 0
  row.marks = 0
  row.behind = row.orderKey === null ? null : isBehind ? 1 : 0
  row.turnAt = at
  row.dueAt = isBehind ? null : at
  row.serverAt = Number.NEGATIVE_INFINITY
  row.deadlineAt = deadline.deadlineAt
  row.deadlineReason = deadline.deadlineReason
  row.lateAt = expiring(row.deadlineAt)
  row.endedAt = null
  tx.hint('due')
}

/** Each lane that has tasks waiting, queue by queue. */
export async function flush(tx: Transaction, lane?: string): Promise<number> {
  let changed = 0
  const index = tx.store('tasks').index('due')
  await piecewise(
    tx,
    (from) => done(index.getAll(lane === undefined ? after(from) : withinAfter([lane], from), PIECE)),
    ({ lane: name, home, rank, dueAt, seq }) => [name, home, rank, dueAt as number, seq],
    async (found) => {
      const later = found.filter(({ dueAt, serverAt, schema }) => {
        return dueAt !== null && dueAt > Math.max(tx.now, serverAt) && schema <= RECORD_SCHEMA
      })
      changed += makeDue(tx, tx.hold(later))
    },
  )
  return changed
}

export async function unpark(
  tx: Transaction,
  { principal, lane }: Parameters<NonNullable<TaskStore['unpark']>>[0],
): Promise<number> {
  const found: TaskRow[] = await done(
    tx
      .store('tasks')
      .index('parked')
      .getAll(lane ?? everyName()),
  )
  const fits = (row: TaskRow): boolean => principal === undefined || row.principal === nameOf(principal)
  const wanted = found.filter((row) => row.parkedIn !== null && !row.aside && fits(row))
  return makeDue(tx, tx.hold(wanted))
}

function makeDue(tx: Transaction, rows: readonly TaskRow[]): number {
  for (const row of rows) {
    row.parkedIn = null
    row.turnAt = Math.max(tx.now, row.serverAt)
    row.dueAt = row.turnAt
    tx.save(row)
  }
  if (rows.length > 0) tx.hint('due')
  return rows.length
}

export async function purge(
  tx: Transaction,
  { taskId, principal, status }: Parameters<TaskStore['purge']>[0],
): Promise<number> {
  let purged = 0
  const fits = (row: TaskRow): boolean =>
    (principal === undefined || row.principal === nameOf(principal)) && (status === undefined || row.status === status)
  const eraseAll = async (found: readonly TaskRow[]): Promise<void> => {
    const rows = tx.hold(found.filter(fits))
    for (const row of rows) erase(tx, row)
    purged += rows.length
  }
  if (taskId === undefined) {
    const tasks = tx.store('tasks')
    await piecewise(
      tx,
      (from) => done(tasks.getAll(after(from), PIECE)),
      (row) => row.taskId,
      eraseAll,
    )
  } else await eraseAll((await tx.rows([taskId])).filter((row) => row !== undefined))
  return purged
}

/** Walks along an index, or the tasks themselves, by rising key. */
async function piecewise(
  tx: Transaction,
  read: (from: IDBValidKey | undefined) => Promise<TaskRow[]>,
  keyOf: (row: TaskRow) => IDBValidKey,
  work: (found: TaskRow[]) => Promise<void>,
): Promise<void> {
  for (let from: IDBValidKey | undefined; ; ) {
    const found = await read(from)
    const last = found.at(-1)
    if (last) from = keyOf(last)
    await work(found)
    tx.letGoRows()
    if (found.length < PIECE) return
  }
}

const after = (from: IDBValidKey | undefined): IDBKeyRange | null =>
  from === undefined ? null : IDBKeyRange.lowerBound(from, true)

const withinAfter = (parts: readonly IDBValidKey[], from: IDBValidKey | undefined): IDBKeyRange =>
  IDBKeyRange.bound(from ?? [...parts], [...parts, []], from !== undefined)
