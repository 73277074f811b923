/**
 * Carries out redrives and purges of many dead letters, part by part. An operation is a row of the registry with a lease: any process takes
 * one whose lease is over, so that none depends on the process that took it in. A process that is killed between its part and its
 * note leaves one part to be done again, which changes nothing (S14).
 */

import type { Clock } from 'redrive'
import type { ApiContext, ApiStore } from './context.ts'
import { deadPage } from './dead-filter.ts'
import { type Dropping, purgeDead } from './drop-body.ts'
import { afterOthers, inSlices } from './in-slices.ts'
import {
  ended,
  findOperation,
  isOver,
  KEPT_MS,
  OPERATION_PREFIX,
  type Operation,
  type OperationRow,
  type Part,
  readOperations,
  writeOperation,
} from './operation-rows.ts'
import { callbackRoom } from './room.ts'

/** Most tasks of a part: a store in this process puts them back in one step, and others wait for it. */
const PART = 64
/** Another process may take an operation that was not heard of for so long. */
export const OPERATION_LEASE_MS = 30_000
/** Between two looks for work, of a process that has none. */
const LOOK_MS = 1_000
/** A part of a paced redrive is what goes out in so long: a stop is to take effect soon. */
const PACE_MS = 10_000
/** A note meets the note of who asked for a stop, and no more than a few of those. */
const TRIES = 5

export interface OperationsOptions extends Dropping, Pick<ApiContext, 'store' | 'tellEnds' | 'quotaOf'> {
  readonly clock: Clock
  /** Names this process. No other ever has the name. */
  readonly owner: string
}

/** The result of a part. */
interface Outcome {
  readonly skipped: number
  /** Until the next part may begin. */
  readonly waitMs: number
}

export class Operations {
  readonly #options: OperationsOptions
  #version = 0
  #open: readonly OperationRow[] = []
  #disarm: (() => void) | undefined
  #ticking: Promise<boolean> | undefined
  #isStarted = false

  constructor(options: OperationsOptions) {
    this.#options = options
  }

  /** Ticks by itself from now on: at once while there is work, else once a second. */
  start(): void {
    if (this.#isStarted) return
    this.#isStarted = true
    this.#arm(0)
  }

  /** Resolves when the part under way is done. What is left goes on in another process, or with the next start. */
  async stop(): Promise<void> {
    this.#isStarted = false
    this.#disarm?.()
    await this.#ticking
  }

  /** Does one part of each operation that this process may take. Faults of the store are logged: the operation goes on when it answers. */
  async tick(): Promise<void> {
    await this.#tick()
  }

  #arm(delayMs: number): void {
    if (!this.#isStarted) return
    this.#disarm = this.#options.clock.after(
      delayMs,
      () => void this.#tick().then((worked) => this.#arm(worked ? 0 : LOOK_MS)),
      delayMs > 0,
    )
  }

  /** Whether a part was done. */
  #tick(): Promise<boolean> {
    this.#ticking ??= this.#round().finally(() => {
      this.#ticking = undefined
    })
    return this.#ticking
  }

  async #round(): Promise<boolean> {
    let worked = false
    try {
      for (const row of await this.#look()) {
        if (!this.#mayTake(row.operation)) await this.#forgetOld(row)
        else worked = (await this.#doPart(row)) || worked
      }
    } catch (error) {
      const { log, sanitizer } = this.#options
      log({ event: 'error', what: 'operations', message: sanitizer.message(error) })
    }
    return worked
  }

  /** The rows, read anew where anything has changed. */
  async #look(): Promise<readonly OperationRow[]> {
    const { registry } = this.#options.store
    const since = this.#version > 0 ? { since: this.#version } : {}
    const { version, entries } = await registry.read({ prefix: OPERATION_PREFIX, ...since })
    this.#version = version
    if (entries) this.#open = entries.map(({ value, version }) => ({ operation: value as Operation, version }))
    return this.#open
  }

  #mayTake(operation: Operation): boolean {
    const { owner, clock } = this.#options
    const now = clock.now()
    const { owner: other, leaseUntil = 0, notBefore = 0 } = operation
    if (isOver(operation) || (notBefore > now && operation.status === 'RUNNING')) return false
    return other === undefined || other === owner || leaseUntil <= now
  }

  async #forgetOld({ operation, version }: OperationRow): Promise<void> {
    const { store, clock } = this.#options
    if (!isOver(operation) || (operation.endedAt ?? 0) + KEPT_MS > clock.now()) return
    // its number is what the next of its kind counts on from
    const kind = operation.operationId.slice(0, operation.operationId.lastIndexOf('-') + 1)
    const rows = await readOperations(store.registry, kind)
    const numberOf = (id: string): number => Number(id.slice(id.lastIndexOf('-') + 1))
    const own = numberOf(operation.operationId)
    if (rows.some((row) => numberOf(row.operation.operationId) > own)) {
      await store.registry.write(OPERATION_PREFIX + operation.operationId, null, version)
    }
  }

  async #doPart(row: OperationRow): Promise<boolean> {
    const { store, clock, owner } = this.#options
    const now = clock.now()
    if (row.operation.status === 'STOPPING') return this.#note(row, (operation) => ended(operation, 'STOPPED', now))
    const part = row.operation.part ?? (await planPart(row.operation, store))
    const taken = { ...row.operation, owner, leaseUntil: now + OPERATION_LEASE_MS, part }
    if ((await writeOperation(store.registry, taken, row.version)) === 'changed') return false
    const outcome = await carryOut(taken, part, this.#options)
    const held = await findOperation(store.registry, taken.operationId)
    // held up for longer than its lease: another process has it, and its part is done again
    if (held?.operation.owner !== owner) return true
    return this.#note(held, (operation) => after(operation, part, outcome, clock.now()))
  }

  /** Writes what has become of it, also where a stop was asked for meanwhile. */
  async #note(row: OperationRow, change: (operation: Operation) => Operation): Promise<boolean> {
    const { store, owner, log } = this.#options
    let latest: OperationRow | undefined = row
    for (let tries = 0; tries < TRIES && latest; tries++) {
      const next = change(latest.operation)
      if ((await writeOperation(store.registry, next, latest.version)) === 'written') {
        const { operationId, status, done } = next
        log({ event: 'operation', operationId, status, done })
        return true
      }
      latest = await findOperation(store.registry, row.operation.operationId)
      if (latest && latest.operation.owner !== undefined && latest.operation.owner !== owner) return false
    }
    return false
  }
}

async function planPart({ scope, cursor, perSecond }: Operation, store: ApiStore): Promise<Part> {
  const size = perSecond === undefined ? PART : Math.max(1, Math.min(PART, Math.ceil((perSecond * PACE_MS) / 1_000)))
  const page = await deadPage(store, scope, size, cursor)
  return { taskIds: page.tasks.map(({ taskId }) => taskId), ...(page.cursor !== undefined && { cursor: page.cursor }) }
}

async function carryOut(operation: Operation, { taskIds }: Part, options: OperationsOptions): Promise<Outcome> {
  const { kind, perSecond, acceptDuplicateRisk = false } = operation
  if (kind === 'purge') {
    for (const taskId of taskIds) {
      await purgeDead(taskId, options)
      await afterOthers()
    }
    return { skipped: 0, waitMs: 0 }
  }
  const spacingMs = perSecond === undefined ? 0 : Math.max(1, Math.round(1_000 / perSecond))
  const back = await withRoom(taskIds, options)
  const held = taskIds.length - back.length
  if (back.length === 0) return { skipped: held, waitMs: 0 }
  await options.tellEnds(back)
  const said = await options.store.redrive(back, { spacingMs, acceptDuplicateRisk })
  const redriven = said.filter((each) => each === 'redriven').length
  return {
    skipped: held + said.filter((each) => each === 'key_expired' || each === 'untold').length,
    waitMs: redriven * spacingMs,
  }
}

/** Those that may go back: of dead letters with callbacks as many as their tenants have room for. */
async function withRoom(taskIds: readonly string[], options: OperationsOptions): Promise<readonly string[]> {
  if (!options.quotaOf) return taskIds
  const rooms = new Map<string | null, number>()
  const back: string[] = []
  await inSlices(taskIds, async (taskId) => {
    const task = await options.store.get(taskId)
    if (task?.status === 'EXHAUSTED' && task.senderData?.callback !== undefined) {
      const { principal } = task
      const room = rooms.get(principal) ?? (await callbackRoom(principal, options)).room
      rooms.set(principal, room - 1)
      if (room <= 0) return
    }
    back.push(taskId)
  })
  return back
}

function after(operation: Operation, { taskIds, cursor }: Part, { skipped, waitMs }: Outcome, now: number): Operation {
  const { owner: _, leaseUntil: __, notBefore: ___, part: ____, ...rest } = operation
  const progress: Operation = {
    ...rest,
    done: operation.done + taskIds.length,
    skipped: operation.skipped + skipped,
    ...(cursor !== undefined && { cursor }),
  }
  if (cursor === undefined) return ended(progress, 'DONE', now)
  if (operation.status === 'STOPPING') return ended(progress, 'STOPPED', now)
  return waitMs > 0 ? { ...progress, notBefore: now + waitMs } : progress
}
