/** Durations, sizes, instants and statuses as people read them. All round; `--json` has the numbers themselves. */

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const
const SIZES = [
  ['GiB', 2 ** 30],
  ['MiB', 2 ** 20],
  ['KiB', 2 ** 10],
] as const

/** Milliseconds in the two largest units that say something: 250ms, 1.5s, 46s, 3m 20s, 2h 5m, 4d 12h. */
export function duration(ms: number): string {
  if (ms === 0) return '0'
  if (ms < 999.5) return `${Math.round(ms)}ms`
  if (ms < 9_950) return `${Number((ms / 1_000).toFixed(1))}s`
  const seconds = Math.round(ms / 1_000)
  if (seconds < 60) return `${seconds}s`
  if (seconds < 3_600) return pair(seconds, 60, 'm', 's')
  const minutes = Math.round(ms / 60_000)
  if (minutes < 1_440) return pair(minutes, 60, 'h', 'm')
  return pair(Math.round(ms / 3_600_000), 24, 'd', 'h')
}

function pair(value: number, base: number, large: string, small: string): string {
  const rest = value % base
  return `${Math.floor(value / base)}${large}${rest ? ` ${rest}${small}` : ''}`
}

/** A duration as a flag takes it, without a loss: 30s, 1d, 1500ms. */
export function exactDuration(ms: number): string {
  const [unit, size] = UNITS.find(([, size]) => ms > 0 && ms % size === 0) ?? ['ms', 1]
  return ms === 0 ? '0' : `${ms / size}${unit}`
}

/** A size as a flag takes it, without a loss: 64KiB, 4GiB, 1000. */
export function exactBytes(bytes: number): string {
  const [unit, size] = SIZES.find(([, size]) => bytes > 0 && bytes % size === 0) ?? ['', 1]
  return `${bytes / size}${unit}`
}

export function bytes(count: number): string {
  const [unit, size] = SIZES.find(([, size]) => count >= size) ?? ['B', 1]
  const value = count / size
  return `${value < 10 && size > 1 ? value.toFixed(1) : Math.round(value)} ${unit}`
}

/** The word for each status of a task, in the inspector and in the command line. */
export const STATUS_WORDS = {
  PENDING: 'waiting',
  IN_FLIGHT: 'in flight',
  EXHAUSTED: 'dead letter',
  SUCCEEDED: 'succeeded',
  CANCELLED: 'cancelled',
} as const

/** The word for the kind of an event or a decision. */
export const kindWord = (kind: string): string => (kind === 'exhausted' ? STATUS_WORDS.EXHAUSTED : kind)

/** UTC, to the second: 2026-11-27 14:03:10Z. */
export function instant(epochMs: number): string {
  const date = new Date(epochMs)
  return Number.isNaN(date.getTime())
    ? String(epochMs)
    : date
        .toISOString()
        .replace('T', ' ')
        .replace(/\.\d+Z/, 'Z')
}

export const grouped = (count: number): string => count.toLocaleString('en-US')

export const plural = (count: number, one: string, many: string = `${one}s`): string =>
  `${grouped(count)} ${count === 1 ? one : many}`
