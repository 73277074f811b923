/** Axes of durations: where a value lies, and which round values to name. */

const ROUND_MS: readonly number[] = [
  1, 10, 100, 1_000, 10_000, 60_000, 600_000, 3_600_000, 21_600_000, 86_400_000, 864_000_000, 8_640_000_000,
]
const STEPS_MS: readonly number[] = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000, 600_000,
  1_200_000, 1_800_000, 3_600_000, 7_200_000, 10_800_000, 21_600_000, 43_200_000, 86_400_000, 172_800_000, 432_000_000,
  864_000_000, 1_728_000_000, 4_320_000_000, 8_640_000_000, 31_536_000_000,
]

export interface Axis {
  /** From 0 to 1; what lies outside is at the nearer end. */
  place(ms: number): number
  readonly ticks: readonly number[]
}

interface Waits {
  readonly minMs: number
  readonly meanMs: number
  readonly maxMs: number
}

/** Logarithmic, over all waits. A wait of 0 is at its beginning. */
export function logAxis(waits: readonly Waits[]): Axis {
  // where the least is 0, a wait that is much shorter than the mean is as good as none
  const least = waits.map(({ minMs, meanMs }) => (minMs > 0 ? minMs : meanMs / 16)).filter((ms) => ms > 0)
  const most = Math.max(1, ...waits.map(({ maxMs }) => maxMs))
  const from = Math.min(most / 8, Math.max(1, Math.min(most, ...least)))
  return {
    place: (ms) => (ms <= from ? 0 : Math.min(1, Math.log(ms / from) / Math.log(most / from))),
    ticks: ticksWithin(from, most),
  }
}

/** Powers of ten, and where there are few of them the steps between. */
function ticksWithin(from: number, to: number): readonly number[] {
  const within = (list: readonly number[]): readonly number[] => list.filter((ms) => ms >= from && ms <= to)
  const round = within(ROUND_MS)
  return round.length > 2 ? round : within(STEPS_MS)
}

/** Linear, from 0, with at most `most` ticks. */
export function linearAxis(endMs: number, most: number): Axis {
  const end = Math.max(1, endMs)
  const step = STEPS_MS.find((ms) => end / ms <= most) ?? end
  const count = Math.floor(end / step)
  return {
    place: (ms) => Math.min(1, Math.max(0, ms / end)),
    ticks: Array.from({ length: count + 1 }, (_, i) => i * step),
  }
}
