/** Compares the second half of a run with its first, once it has warmed up. */

import { type Check, FOREVER } from '../faults/checks.ts'

export interface Window {
  /** Seconds since the start, at its end. */
  readonly at: number
  /** MiB, of all processes together. */
  readonly rss: number
  readonly file: number
  readonly log: number
  readonly perSecond: number
  /** Milliseconds from `enqueue` to the first attempt, and from when an attempt was due until it came. */
  readonly begun: number
  readonly late50: number
  readonly late99: number
  readonly lateMost: number
}

/** The beginning of a run: code is compiled, the file grows to what retention keeps. */
const WARM_UP = 0.2
/** Shorter runs are over before what they show says anything. */
export const JUDGED_FROM_SECONDS = 120

/** What may grow from one half to the other: a share, and so much besides. */
const GROWTH = {
  rss: { label: 'RSS, MiB', share: 0.1, plus: 16 },
  file: { label: 'file, MiB', share: 0.1, plus: 2 },
  log: { label: 'log of the file, MiB', share: 0.1, plus: 8 },
  begun: { label: 'first attempts after their enqueue, p99 ms', share: 0.3, plus: 75 },
  late99: { label: 'retries after they were due, p99 ms', share: 0.3, plus: 75 },
} as const

export function areFlat(windows: readonly Window[]): readonly Check[] {
  const warm = windows.slice(Math.floor(windows.length * WARM_UP))
  const half = Math.floor(warm.length / 2)
  return (Object.keys(GROWTH) as (keyof typeof GROWTH)[]).map((key) => {
    const { label, share, plus } = GROWTH[key]
    const [before, after] = [warm.slice(0, half), warm.slice(half)].map((part) => median(part.map((each) => each[key])))
    const limit = (before ?? FOREVER) * (1 + share) + plus
    return {
      label: `${label}, ${round(before)} in the first half, then`,
      found: round(after),
      wanted: `at most ${round(limit)}`,
      ok: half > 0 && (after ?? FOREVER) <= limit,
      offenders: [],
    }
  })
}

const median = (numbers: readonly number[]): number =>
  [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN

const round = (number: number | undefined): string =>
  (number ?? Number.NaN).toFixed(number !== undefined && number < 100 ? 1 : 0)
