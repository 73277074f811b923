/** How the lanes of a store stand to each other when a claim comes. A store that says nothing of it has a line for each principal, and pauses none. */

import { originIn } from '../../api/records.ts'
import type { Claim } from '../../api/store.ts'

export interface Lineup {
  /** The lanes of all principals stand in one line, and bounds name origins. */
  readonly everyone: boolean
  /** Whether a lane is in a paused scope. Absent: none is. */
  readonly isPaused?: (lane: string) => boolean
  /** Lines beside that of all in which a claim finds lanes, by name: of origins and principals that kept back what stood in it, and do not any more. */
  lines?: readonly string[]
  /** Those origins with lanes in line of which `isOpen` is true, if it is of few. Absent, or undefined: there is no quick way to tell. */
  openOrigins?(isOpen: (origin: string) => boolean): readonly string[] | undefined
}

/** The name of a lane by which a claim's limits go. */
export const limitName = ({ lanes }: Claim, lineup: Lineup | undefined): ((lane: string) => string) =>
  lineup?.everyone && lanes === 'any' ? originIn : (lane) => lane

/** Most that may be claimed under a name of limits; under one that is not named `otherMax` with 'any', and nothing otherwise. */
export function limitsOf({ lanes, bounds = [], otherMax = Number.POSITIVE_INFINITY }: Claim): (name: string) => number {
  const named = new Map((lanes === 'any' ? bounds : lanes).map(({ lane, max }) => [lane, max]))
  const otherwise = lanes === 'any' ? otherMax : 0
  return (name) => named.get(name) ?? otherwise
}

/** Most that may be claimed from a lane, before any was. */
export function boundsOf(claim: Claim, lineup?: Lineup): (lane: string) => number {
  const limitOf = limitsOf(claim)
  const nameOf = limitName(claim, lineup)
  return (lane) => (lineup?.isPaused?.(lane) ? 0 : limitOf(nameOf(lane)))
}

/** The most attempts that a task of a lane may have had, where those with the fewest come first; `undefined`: they do not. */
export function mostTriedIn({ bounds = [] }: Claim, lane: string, lineup?: Lineup): number | undefined {
  const name = lineup?.everyone ? originIn(lane) : lane
  const bound = bounds.find((each) => each.lane === name && (each.leastTried || each.untried))
  return bound && (bound.untried ? 0 : Number.POSITIVE_INFINITY)
}
