/**
 * Operations as rows of the registry: `op/<id>`. Ids count up per kind and tenant, and a row is made only where there is none of its number, which
 * makes "one of a kind at a time" one step of the store.
 */

import { createHash } from 'node:crypto'
import { DAY_MS } from 'redrive/internal'
import type { Registry } from 'redrive/store'
import type { DeadScope } from './dead-filter.ts'
import { Problem } from './problem.ts'

export const OPERATION_PREFIX = 'op/'
/** How long an ended operation is shown. */
export const KEPT_MS: number = DAY_MS

type OperationKind = 'redrive' | 'purge'

export interface Part {
  readonly taskIds: readonly string[]
  /** Where the next one goes on. Absent: this is the last. */
  readonly cursor?: string
}

export interface Operation {
  readonly operationId: string
  readonly kind: OperationKind
  readonly scope: DeadScope
  readonly status: 'RUNNING' | 'STOPPING' | 'STOPPED' | 'DONE'
  readonly done: number
  /** Redrive: dead letters that stay: their key has expired, their end is to be reported, or their tenant has no room for a callback. */
  readonly skipped: number
  readonly total: number
  /** Epoch ms, of the clock of the process that took it in. */
  readonly startedAt: number
  readonly endedAt?: number
  readonly perSecond?: number
  readonly acceptDuplicateRisk?: boolean
  /** The last id that was dealt with. */
  readonly cursor?: string
  /** The process that does its next part, until `leaseUntil`. */
  readonly owner?: string
  readonly leaseUntil?: number
  /** The part under way, noted before it is done: a process that does it again does these and no others. */
  readonly part?: Part
  /** The next part begins then. */
  readonly notBefore?: number
}

export interface OperationRow {
  readonly operation: Operation
  readonly version: number
}

export const isOver = ({ status }: Operation): boolean => status === 'STOPPED' || status === 'DONE'

export type NewOperation = Pick<Operation, 'kind' | 'scope' | 'total' | 'perSecond' | 'acceptDuplicateRisk'>

/** All that are kept, as they are now. */
export async function readOperations(registry: Registry, id = ''): Promise<readonly OperationRow[]> {
  const { entries = [] } = await registry.read({ prefix: OPERATION_PREFIX + id })
  return entries.map(({ value, version }) => ({ operation: value as Operation, version }))
}

export async function findOperation(registry: Registry, id: string): Promise<OperationRow | undefined> {
  return (await readOperations(registry, id)).find(({ operation }) => operation.operationId === id)
}

export const writeOperation = (
  registry: Registry,
  operation: Operation,
  expected: number,
): Promise<'written' | 'changed'> => registry.write(OPERATION_PREFIX + operation.operationId, operation, expected)

/** Takes an operation in. Throws 'operation-running' where one of its kind and tenant is under way. */
export async function beginOperation(registry: Registry, given: NewOperation, now: number): Promise<Operation> {
  const { kind, scope } = given
  const name = `${kind}-${digestOf(scope)}-`
  const rows = await readOperations(registry, name)
  const running = rows.find(({ operation }) => !isOver(operation))
  if (running) throw runs(kind, running.operation.operationId)
  const number = Math.max(0, ...rows.map(({ operation }) => Number(operation.operationId.slice(name.length)))) + 1
  const operationId = `${name}${number}`
  const operation: Operation = { ...given, operationId, status: 'RUNNING', done: 0, skipped: 0, startedAt: now }
  if ((await writeOperation(registry, operation, 0)) === 'changed') throw runs(kind, operationId)
  return operation
}

function runs(kind: OperationKind, operationId: string): Problem {
  const detail = `${operationId} is under way, and one ${kind} of a tenant goes on at a time: wait for it, or stop it with DELETE`
  return new Problem('operation-running', detail, { operationId })
}

/** A digest that all operations of one tenant share, and those of all tenants. */
function digestOf(scope: DeadScope): string {
  const whose = 'principal' in scope ? JSON.stringify([scope.principal]) : ''
  return createHash('sha256').update(whose).digest('hex').slice(0, 8)
}

/** An operation in the form in which it is shown. */
export function showOperation(operation: Operation): object {
  const { operationId, kind, scope, status, done, skipped, total, startedAt, endedAt } = operation
  return {
    operationId,
    kind,
    ...('principal' in scope && { tenant: scope.principal }),
    status,
    done,
    skipped,
    total,
    remaining: status === 'DONE' ? 0 : Math.max(0, total - done),
    startedAt,
    ...(endedAt !== undefined && { endedAt }),
  }
}

/** Without what only matters while it goes on. */
export function ended(operation: Operation, status: 'STOPPED' | 'DONE', now: number): Operation {
  const { owner: _, leaseUntil: __, notBefore: ___, part: ____, ...rest } = operation
  return { ...rest, status, endedAt: now }
}
