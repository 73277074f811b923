/** The places of the frontier's points and of the numbers beside them. */

import type { FrontierRow } from '../engine/model.ts'

/** Units of the picture, which are pixels on a narrow screen and somewhat more on a wide one. */
export const WIDE = 640
export const NARROW = 330
export const HEIGHT = 410
export const LEFT = 48
export const BOTTOM = 44
export const TOP = 24
export const RIGHT = 14
/** Between the middles of two numbers, and of a number and a point: none covers another. */
export const APART = 18
/** Rings around a point on which its number may stand. */
const RINGS = 12

export interface Mark {
  readonly row: FrontierRow
  readonly text: string
  readonly x: number
  readonly y: number
  /** Where its number stands: beside the point, pushed away from the others. */
  readonly textX: number
  readonly textY: number
  readonly kind: 'own' | 'spread' | 'other'
}

export interface Scales {
  readonly width: number
  /** The end of the x axis. */
  readonly most: number
  x(cv: number): number
  y(idle: number): number
}

export function scalesOf(all: readonly FrontierRow[], width: number): Scales {
  const most = Math.max(1, ...all.map(({ waitCv }) => waitCv).filter(Number.isFinite)) * 1.04
  return {
    width,
    most,
    x: (cv) => LEFT + (Math.min(cv, most) / most) * (width - LEFT - RIGHT),
    y: (idle) => HEIGHT - BOTTOM - idle * (HEIGHT - BOTTOM - TOP),
  }
}

const kindOf = ({ name }: FrontierRow): Mark['kind'] => (name.startsWith('spread') ? 'spread' : 'other')

/** Numbers beside their points, each on the first ring where it covers no point and no other number: a greedy pass is enough for sixteen of them. */
export function placed(all: readonly FrontierRow[], { width, x, y }: Scales, hasOwn: boolean): Mark[] {
  const taken = all.map(({ waitCv, idle }) => ({ x: x(waitCv), y: y(idle) }))
  const order = all.map((row, i) => ({ row, i })).sort((a, b) => a.row.waitCv - b.row.waitCv || a.row.idle - b.row.idle)
  const marks = order.map(({ row, i }): Mark & { readonly i: number } => {
    const isOwn = hasOwn && i === all.length - 1
    const point = { x: x(row.waitCv), y: y(row.idle) }
    const tries = Array.from({ length: RINGS * 8 }, (_, n) => {
      const angle = (n % 8) * (Math.PI / 4)
      const far = APART + 1 + Math.floor(n / 8) * 12
      return { x: point.x + Math.cos(angle) * far, y: point.y + Math.sin(angle) * far }
    })
    const isFree = (at: { readonly x: number; readonly y: number }): boolean =>
      at.x > LEFT + 8 &&
      at.x < width - 8 &&
      at.y > TOP + 8 &&
      at.y < HEIGHT - BOTTOM - 8 &&
      taken.every((other) => Math.hypot(other.x - at.x, other.y - at.y) > APART)
    const at = tries.find(isFree) ?? { x: point.x + 14, y: point.y }
    taken.push(at)
    return {
      row,
      i,
      text: isOwn ? '★' : String(i + 1),
      ...point,
      textX: at.x,
      textY: at.y,
      kind: isOwn ? 'own' : kindOf(row),
    }
  })
  return marks.sort((a, b) => a.i - b.i)
}
