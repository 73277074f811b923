/** The blows of a run, drawn by its seed before anything starts, so that they can be printed and had again. */

import { chance } from '../options.ts'
import type { Options } from './options.ts'
import { STOP_MS } from './options.ts'

export type BlowKind = 'kill' | 'stop' | 'drain' | 'redis'

export interface Blow {
  readonly kind: BlowKind
  /** From the blow before it, or from the moment at which all processes were ready. */
  readonly afterMs: number
  /** Which of the processes that may be struck, as a share of them. */
  readonly pick: number
  /** How long a stopped process stands still, or a killed Redis is away. */
  readonly forMs: number
}

/** Between two blows. */
const LEAST_MS = 300
const MOST_MS = 1_600
/** A killed Redis is back at once, or after so long at most. */
const MOST_AWAY_MS = 1_500

export function planOf({ kills, stops, drains, redisKills, seed }: Options): readonly Blow[] {
  const random = chance(seed ^ 0x9e3779b9)
  const kinds: BlowKind[] = [
    ...Array.from({ length: kills }, () => 'kill' as const),
    ...Array.from({ length: stops }, () => 'stop' as const),
    ...Array.from({ length: drains }, () => 'drain' as const),
    ...Array.from({ length: redisKills }, () => 'redis' as const),
  ]
  for (let i = kinds.length - 1; i > 0; i--) {
    const at = Math.floor(random() * (i + 1))
    const [a, b] = [kinds[i] as BlowKind, kinds[at] as BlowKind]
    kinds[i] = b
    kinds[at] = a
  }
  return kinds.map((kind) => {
    const afterMs = Math.round(LEAST_MS + random() * (MOST_MS - LEAST_MS))
    const pick = Math.round(random() * 1_000) / 1_000
    const draw = random()
    const awayMs = draw < 0.5 ? 0 : Math.round(draw * MOST_AWAY_MS)
    const forMs = kind === 'stop' ? STOP_MS : kind === 'redis' ? awayMs : 0
    return { kind, afterMs, pick, forMs }
  })
}

const WORDS: Readonly<Record<BlowKind, string>> = {
  kill: 'SIGKILL',
  stop: 'SIGSTOP, SIGCONT',
  drain: 'SIGTERM',
  redis: 'SIGKILL of Redis',
}

/** One line a blow. */
export function planWords(plan: readonly Blow[]): readonly string[] {
  return plan.map(({ kind, afterMs, pick, forMs }, i) => {
    const who = kind === 'redis' ? '' : ` of the process at ${pick.toFixed(3)}`
    const time = forMs > 0 ? `, for ${forMs} ms` : ''
    return `  ${String(i + 1).padStart(3)}. ${afterMs} ms later: ${WORDS[kind]}${who}${time}`
  })
}
