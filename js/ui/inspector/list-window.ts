/** The rows of a long list that are drawn: those in view, and a few on each side for the frame that comes too late. */

const SPARE = 8

export interface ListWindow {
  readonly from: number
  /** Not included. */
  readonly to: number
}

export function windowOf(scrollTop: number, height: number, rowHeight: number, count: number): ListWindow {
  const first = Math.floor(scrollTop / rowHeight)
  const from = Math.max(0, Math.min(first - SPARE, count))
  const to = Math.min(count, first + Math.ceil(height / rowHeight) + SPARE)
  return { from, to: Math.max(from, to) }
}

/** Where to scroll to so that a row is in view; `scrollTop` itself where it is. */
export function scrolledTo(row: number, scrollTop: number, height: number, rowHeight: number): number {
  const top = row * rowHeight
  if (top < scrollTop) return top
  return Math.max(scrollTop, top + rowHeight - height)
}
