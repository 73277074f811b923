/**
 * When which document could act. One that was killed, left, or frozen has let go of what it held at that moment: a request of
 * it that is still open at the server then is nobody's attempt any more.
 */

import type { Visit } from '../../servers/start.mjs'

export type Fate = 'killed' | 'crashed' | 'closed' | 'left'

export interface Life {
  readonly name: string
  readonly place: number
  /** By which the browser names the holder of a lock. */
  readonly client?: string
  /** When it was frozen, or on another page, or gone; the last of them may have no end. */
  readonly away: { readonly from: number; until: number }[]
  /** undefined: it is there. */
  fate: Fate | undefined
}

/** The document that sent a request says so with it: its name, then the task and the number of the attempt, or 'first'. */
export const lifeOf = ({ by }: Visit): string => by?.split(' ')[0] ?? ''
/** The caller's own attempt, which no limit holds back. */
export const isFirst = ({ by }: Visit): boolean => by?.split(' ')[1] === 'first'

export function goAway(life: Life, from: number): void {
  if (life.away.at(-1)?.until !== Number.POSITIVE_INFINITY) life.away.push({ from, until: Number.POSITIVE_INFINITY })
}

export function comeBack(life: Life, until: number): void {
  const last = life.away.at(-1)
  if (last) last.until = until
}

/** The first moment from `at` on at which it could not act. */
export function awayFrom(life: Life | undefined, at: number): number {
  for (const { from, until } of life?.away ?? []) if (until > at) return Math.max(from, at)
  return Number.POSITIVE_INFINITY
}
