/**
 * Places in flight that principals leave to others: `Claim.perFree`. For stores for everyone alone; limits.lua has it again, for the server of
 * Redis.
 */

import type { Claim } from '../../api/claim.ts'

const MANY = Number.POSITIVE_INFINITY

/** A principal that has so many is given no other place of `total`, of which `inFlight` are taken. */
export function mostOfPrincipal(
  { total, perPrincipal = MANY, perFree }: Pick<Claim, 'total' | 'perPrincipal' | 'perFree'>,
  inFlight: number,
): number {
  if (perFree === undefined) return perPrincipal
  // never 0, also where no place is free: thousands of lanes would be put apart, and nothing could start anyway
  return Math.min(perPrincipal, Math.max(1, perFree * (total - inFlight - 1)))
}

/** A lane that has so many is given no other place at its origin, where the claim may take `left` more. */
export function mostOfLane({ perLane, perFree }: Claim, left: number): number {
  return perFree === undefined ? MANY : Math.max(perLane / (left > 1 ? 2 : 4), perFree * (left - 1))
}
