/** Limits of origins and principals, looked up lane by lane: see `Claim.limits`. */

import { originIn } from '../../api/records.ts'
import type { Claim } from '../../api/store.ts'
import { type Bucket, type Limit, limitFor, limitsIn, takeToken } from '../engine/limits.ts'
import { mostOfLane, mostOfPrincipal } from '../engine/places.ts'
import { type Lane, newBucket, type Rows } from './rows.ts'

export interface Gate {
  /** When the lanes of its origin may next be leased; in the past: now. */
  tokenAt(lane: Lane): number
  /** Whether one more of it may be in flight, as far as origin and principal go. `left`: what the claim may still take there. */
  hasRoom(lane: Lane, left: number): boolean
  /** A lease of the lane was given. */
  took(lane: Lane, now: number): void
}

const NEVER = Number.NEGATIVE_INFINITY
const MANY = Number.POSITIVE_INFINITY
function bucketOf({ buckets }: Rows, origin: string): Bucket {
  const known = buckets.get(origin) ?? newBucket()
  buckets.set(origin, known)
  return known
}

/** Forgets tokens that are as good as new. */
export function forgetBuckets({ buckets }: Rows, now: number): void {
  for (const [origin, { tat }] of buckets) if (tat <= now) buckets.delete(origin)
}

/** How many are in flight of each origin, and of each principal. */
class InFlight {
  readonly #ofOrigin = new Map<string, number>()
  readonly #ofPrincipal = new Map<string | null, number>()

  constructor({ lanes }: Rows) {
    for (const lane of lanes.values()) if (lane.inFlight > 0) this.add(lane, lane.inFlight)
  }

  add({ name, principal }: Lane, count: number): void {
    const origin = originIn(name)
    this.#ofOrigin.set(origin, this.ofOrigin(origin) + count)
    this.#ofPrincipal.set(principal, this.ofPrincipal(principal) + count)
  }

  ofOrigin(origin: string): number {
    return this.#ofOrigin.get(origin) ?? 0
  }

  ofPrincipal(principal: string | null): number {
    return this.#ofPrincipal.get(principal) ?? 0
  }
}

const OPEN: Gate = { tokenAt: () => NEVER, hasRoom: () => true, took: () => {} }

export function gateOf(rows: Rows, claim: Claim): Gate {
  if (!rows.everyone) return OPEN
  const read = limitsIn(claim.limits)
  // counted once for a claim, in which nothing but its own leases changes it
  let counted: InFlight | undefined
  const inFlight = (): InFlight => {
    counted ??= new InFlight(rows)
    return counted
  }
  const limitOf = ({ name }: Lane): Limit | undefined => limitFor(read, originIn(name))
  return {
    tokenAt(lane) {
      const limit = limitOf(lane)
      return limit?.isShared && limit.rate ? bucketOf(rows, originIn(lane.name)).tokenAt : NEVER
    },
    hasRoom(lane, left) {
      const { concurrency = MANY, isShared = false } = limitOf(lane) ?? {}
      const running = () => (isShared ? inFlight().ofOrigin(originIn(lane.name)) : lane.inFlight)
      const most = mostOfPrincipal(claim, rows.counts.inFlight)
      return (
        lane.inFlight < mostOfLane(claim, left) &&
        (concurrency === MANY || running() < concurrency) &&
        (most === MANY || inFlight().ofPrincipal(lane.principal) < most)
      )
    },
    took(lane, now) {
      counted?.add(lane, 1)
      const limit = limitOf(lane)
      if (limit?.rate) takeToken(limit.isShared ? bucketOf(rows, originIn(lane.name)) : lane.bucket, limit.rate, now)
    },
  }
}
