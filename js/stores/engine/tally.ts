/**
 * The counters of a store, as its tasks have them. Counters are kept as tasks change, so that no turn has to count; a store
 * that finds them to be wrong, since other code has written there, counts anew.
 */

import { MOST_COUNTED } from './bounds.ts'
import { COUNTER, type Counter, isLive, isOurs, type Lane, type Row, takesRoom } from './row.ts'

interface LaneTally {
  tasks: number
  pending: number
  inFlight: number
}

export class Tally {
  readonly counts: Record<Exclude<Counter, 'purged'>, number> = {
    pending: 0,
    inFlight: 0,
    succeeded: 0,
    exhausted: 0,
    cancelled: 0,
    bytes: 0,
  }
  readonly lanes: Map<string, LaneTally> = new Map()
  lastSeq = 0
  lastToken = 0

  add(row: Row): void {
    // a row that was put aside is counted from then on, whatever it was before
    if (!isOurs(row.aside ? { ...row, isStray: false } : row)) return
    this.counts[COUNTER[row.status]]++
    if (row.seq <= MOST_COUNTED) this.lastSeq = Math.max(this.lastSeq, row.seq)
    if (row.token <= MOST_COUNTED) this.lastToken = Math.max(this.lastToken, row.token)
    const lane = this.lanes.get(row.lane) ?? { tasks: 0, pending: 0, inFlight: 0 }
    this.lanes.set(row.lane, lane)
    lane.tasks++
    if (takesRoom(row)) this.counts.bytes += row.bodyBytes
    if (!isLive(row) || row.aside) return
    lane[row.status === 'PENDING' ? 'pending' : 'inFlight']++
  }
}

/** Whether all of them are numbers that count something. */
export const areCounts = (...counts: readonly unknown[]): boolean =>
  counts.every((count) => Number.isSafeInteger(count) && (count as number) >= 0 && (count as number) <= MOST_COUNTED)

/** Forgets a token that no counter goes on from: it may be given once more. Says whether it was one. */
export function forgetToken(row: Row): boolean {
  if (Math.max(row.token, row.settledToken ?? 0) <= MOST_COUNTED) return false
  row.token = 0
  row.settledToken = null
  if (row.status === 'IN_FLIGHT') row.leaseUntil = 0
  return true
}

/** Whether a hold is one that may be waited for, and ends when its limit says. */
export const isSoundHold = ({ heldUntil, holdEndsBy = heldUntil }: Hold, latest: number): boolean =>
  isWithin(heldUntil, latest) && isWithin(holdEndsBy, Number.MAX_VALUE) && (heldUntil ?? 0) <= (holdEndsBy ?? 0)

type Hold = Pick<Lane, 'heldUntil' | 'holdEndsBy'>

/** Whether `at`, an instant or null, is one that may be waited for. */
export const isWithin = (at: unknown, latest: number): boolean =>
  at === null || (typeof at === 'number' && !Number.isNaN(at) && at <= latest)
