/** Quotas of principals: see `StoreTerms.quotaOf`. */

import type { NewTask, StoreTerms } from '../../api/store.ts'
import { bodyBytes, type Rows, takesRoom } from './rows.ts'

/** All that takes room of one principal's: how many, and the bytes of their bodies. */
export function shareOf(rows: Rows, principal: string | null): { readonly held: number; readonly bytes: number } {
  const own = [...rows.all()].filter((row) => takesRoom(row) && row.given.principal === principal)
  return { held: own.length, bytes: own.reduce((sum, row) => sum + bodyBytes(row), 0) }
}

/** Whether a new task is more than its principal may have. */
export function isOverQuota(rows: Rows, task: NewTask, { quotaOf }: StoreTerms): boolean {
  const { principal, body, quotaExempt } = task
  const quota = quotaExempt ? undefined : quotaOf?.(principal)
  if (!quota) return false
  const { capacity = Number.POSITIVE_INFINITY, capacityBytes = Number.POSITIVE_INFINITY } = quota
  const { held, bytes } = shareOf(rows, principal)
  return held >= capacity || bytes + (body?.byteLength ?? 0) > capacityBytes
}
