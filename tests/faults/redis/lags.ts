/** What a lost server takes along: changes that it had answered for, and had not yet written or copied. */

import { FOREVER } from '../checks.ts'
import type { LeaseSpan } from '../log.ts'
import { endOf } from '../processes.ts'
import type { Call } from './callers.ts'
import type { RedisFacts, Span } from './laws.ts'

/** What was written so soon before may not have arrived. */
export const ON_ITS_WAY_MS = 200

export const spanOf = (lease: LeaseSpan) => [lease.from, endOf(lease)] as const

/**
 * What is kept in memory only ends with its process; a failover loses what the replica had not got, but not what it was asked to confirm. What has
 * ended gives way where the server has no memory.
 */
export function mayBeGone(call: Call, facts: RedisFacts): boolean {
  const { askedAt, endedAt, durability } = call
  const { lags } = facts
  if (gaveWay(call, facts)) return true
  if (durability === 'replicated') return false
  return durability === 'memory' || isInLag(lags, askedAt, endedAt)
}

/** Whether the task of a call has succeeded or was cancelled, and has given way to others with its key (docs/adr/0092). */
export function gaveWay({ taskId, request }: Call, { full, rows, effects, calls }: RedisFacts): boolean {
  if (full.length === 0 || rows.some((row) => row.taskId === taskId)) return false
  const isCancelled = calls.some(({ request: { kind, taskId: id } }) => kind === 'cancel' && id === taskId)
  return isCancelled || (effects.get(request.intent) ?? 0) > 0
}

export const isInLag = (lags: readonly Span[], from: number, until: number): boolean =>
  lags.some((lag) => from < lag.until && until > lag.from - ON_ITS_WAY_MS)

/** Leases that were given while the replica heard nothing are unknown to the primary after it, whose tokens go on. */
export const isForgotten = ({ from }: LeaseSpan, { lags }: RedisFacts): boolean =>
  lags.some((lag) => from >= lag.from - ON_ITS_WAY_MS && from <= lag.until)

/**
 * When a server that knew of this lease was lost, at the earliest: the next one may not know of it, or not of its renewal, and gives its
 * task and its place to others.
 */
export function lostAt({ from }: LeaseSpan, { lags }: Pick<RedisFacts, 'lags'>): number {
  return Math.min(FOREVER, ...lags.filter(({ until }) => until > from).map((lag) => lag.from - ON_ITS_WAY_MS))
}

/** Leases for as long as the server knew of them. */
export const knownSpans = (
  facts: RedisFacts,
  leases: readonly LeaseSpan[],
): readonly (readonly [from: number, until: number])[] =>
  leases.map((lease) => [lease.from, Math.min(endOf(lease), lostAt(lease, facts))] as const)

/** A renewal that was forgotten may be missed by then. */
export const lapsedIn = ({ from }: LeaseSpan, at: number, { lags }: RedisFacts): boolean =>
  lags.some((lag) => from <= lag.until && at >= lag.from)
