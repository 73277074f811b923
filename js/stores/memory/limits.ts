/** Limits of origins and principals, looked up lane by lane: see `Claim.limits`. */

import { originIn } from '../../api/records.ts'
import type { Claim } from '../../api/store.ts'
import { type Limit, limitFor, limitsIn, takeToken } from '../engine/limits.ts'
import type { Lane, Rows } from './rows.ts'

export interface Gate {
  /** When the lanes of its origin may next be leased; in the past: now. */
  tokenAt(lane: Lane): number
  /** Whether one more of it may be in flight, as far as origin and principal go. */
  hasRoom(lane: Lane): boolean
  /** A lease of the lane was given. */
  took(lane: Lane, now: number): void
}

const NEVER = Number.NEGATIVE_INFINITY
const MANY = Number.POSITIVE_INFINITY
const OPEN: Gate = { tokenAt: () => NEVER, hasRoom: () => true, took: () => {} }

export function gateOf(rows: Rows, { limits, perPrincipal = MANY }: Claim): Gate {
  if (!rows.everyone) return OPEN
  const read = limitsIn(limits)
  const limitOf = ({ name }: Lane): Limit | undefined => limitFor(read, originIn(name))
  return {
    tokenAt(lane) {
      const limit = limitOf(lane)
      return limit?.isShared && limit.rate ? rows.bucketOf(originIn(lane.name)).tokenAt : NEVER
    },
    hasRoom(lane) {
      const { concurrency = MANY, isShared = false } = limitOf(lane) ?? {}
      const origin = originIn(lane.name)
      const running = () => (isShared ? rows.inFlightOf(({ name }) => originIn(name) === origin) : lane.inFlight)
      const ofPrincipal = () => rows.inFlightOf(({ principal }) => principal === lane.principal)
      return (
        (concurrency === MANY || running() < concurrency) && (perPrincipal === MANY || ofPrincipal() < perPrincipal)
      )
    },
    took(lane, now) {
      const limit = limitOf(lane)
      if (limit?.rate) takeToken(limit.isShared ? rows.bucketOf(originIn(lane.name)) : lane.bucket, limit.rate, now)
    },
  }
}
