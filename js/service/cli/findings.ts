/** Findings about a store. */

import { bytes, grouped } from 'redrive/internal'
import type { Counts } from 'redrive/store'

export interface Finding {
  /** unsafe: accepted tasks may be lost. warning: they may be, or soon. note: a number to know. */
  readonly level: 'ok' | 'note' | 'warning' | 'unsafe'
  readonly about: string
  /** The fact, and what to do. */
  readonly text: string
}

export interface Limits {
  readonly capacity: number
  readonly capacityBytes: number
}

/** The counters that say how full a store is, and of what. */
export type Held = Omit<Counts, 'purged' | 'pendingAside'>

/** From here on a store counts as nearly full. */
const NEARLY = 0.8

/** The contents of a store, against what the service lets it hold. */
export function countFindings(counts: Held, { capacity, capacityBytes }: Limits): Finding[] {
  const held = counts.pending + counts.inFlight + counts.exhausted
  const ended = counts.succeeded + counts.cancelled
  const share = Math.max(held / capacity, capacityBytes > 0 ? counts.bytes / capacityBytes : 0)
  const text = `${grouped(counts.pending)} waiting, ${grouped(counts.inFlight)} in flight, ${grouped(counts.exhausted)} dead letters, ${grouped(ended)} ended; ${bytes(counts.bytes)} of bodies`
  const found: Finding[] =
    share < NEARLY
      ? [{ level: 'note', about: 'tasks', text }]
      : [
          {
            level: 'warning',
            about: 'tasks',
            text: `${text}: ${Math.floor(share * 100)} % of what --capacity and --capacity-bytes allow, and new tasks are refused beyond that; raise them, or see redrive dead list`,
          },
        ]
  if (!counts.unreadable) return found
  return [
    ...found,
    {
      level: 'warning',
      about: 'unreadable',
      text: `${grouped(counts.unreadable)} tasks cannot be read by this version, or are damaged; they are kept, and not sent`,
    },
  ]
}
