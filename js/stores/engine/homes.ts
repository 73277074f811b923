/** Says which homes a claim may take tasks of: a response can be given only where its caller waits, and some tasks need hooks that not every process has. */

import { isHomeOfNeeds } from '../../api/records.ts'
import type { Claim, Step } from '../../api/store.ts'

/** A step whose claim, if it has one, leaves alone the tasks of homes that are live now, too: one may have come since the claim was made. */
export const besideHomes = (step: Step, live: readonly string[]): Step => ({
  ...step,
  claim: step.claim && { ...step.claim, skipHomes: [...step.claim.skipHomes, ...live] },
})

export type TakesHome = (home: string | null) => boolean

export function takesHome(owner: string, { skipHomes, ownHomeOnly, supplied }: Claim): TakesHome {
  const skipped = new Set<string | null>(skipHomes)
  const isSupplied = (home: string | null) => !supplied || !isHomeOfNeeds(home) || supplied.includes(home as string)
  return (home) => home === owner || (!ownHomeOnly && !skipped.has(home) && isSupplied(home))
}
