/** What the core has said of an attempt, as its store is told. */

import type { Carry, Settlement } from '../api/store.ts'
import { ENDED, reasonOf, VERDICT } from '../core/codes.ts'
import type { Ruling } from '../tasks/ruling.ts'
import type { HeldLease } from '../tasks/task.ts'

const PARKED_MS = 60_000

export function nextOf({ verdict, why }: Ruling, { reason, parks }: HeldLease): Settlement['next'] {
  if (verdict === VERDICT.succeeded) return { kind: 'succeeded' }
  if (verdict >= ENDED) return { kind: 'exhausted', reason: reason ?? reasonOf(verdict) }
  // its end was asked for, which the store knows
  if (!why) return { kind: 'release', delayMs: 0, refund: false }
  const { delayMs, serverMs, phase, previousDelayMs, marks } = why
  const carry: Carry = { phase, previousDelayMs, marks }
  const park = verdict === VERDICT.parked || parks === true
  // for a store that cannot park
  const waitMs = park ? Math.max(delayMs, PARKED_MS) : delayMs
  if (why.refunded || park) return { kind: 'release', delayMs: waitMs, refund: why.refunded, serverMs, carry, park }
  return { kind: 'retry', delayMs, serverMs, carry }
}
