/**
 * The counters of a store, as its tasks have them. Counters are kept as tasks change, so that no turn has to count; a store
 * that finds them to be wrong, since other code has written there, counts anew.
 */

import { DAY_MS } from '../../platform/clock.ts'
import { COUNTER, type Counts, isLive, isOurs, type Row, takesRoom } from './row.ts'

/** A hold or a lease that ends later than this after now is none of ours. */
export const YEAR_MS: number = 366 * DAY_MS
/** A clock was not set back by more. */
export const CENTURY_MS: number = 100 * YEAR_MS

interface LaneTally {
  tasks: number
  pending: number
  inFlight: number
}

export class Tally {
  readonly counts: Record<Exclude<keyof Counts, 'purged' | 'unreadable'>, number> = {
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
    if (!isOurs(row)) return
    this.counts[COUNTER[row.status]]++
    this.lastSeq = Math.max(this.lastSeq, row.seq)
    this.lastToken = Math.max(this.lastToken, row.token)
    const lane = this.lanes.get(row.lane) ?? { tasks: 0, pending: 0, inFlight: 0 }
    this.lanes.set(row.lane, lane)
    lane.tasks++
    if (takesRoom(row)) this.counts.bytes += row.bodyBytes
    if (!isLive(row)) return
    lane[row.status === 'PENDING' ? 'pending' : 'inFlight']++
  }
}

/** Whether all of them are numbers that count something. */
export const areCounts = (...counts: readonly unknown[]): boolean =>
  counts.every((count) => Number.isSafeInteger(count) && (count as number) >= 0 && (count as number) < 2 ** 52)

/** Whether `at`, an instant or null, is one that may be waited for. */
export const isWithin = (at: unknown, latest: number): boolean =>
  at === null || (typeof at === 'number' && !Number.isNaN(at) && at <= latest)
