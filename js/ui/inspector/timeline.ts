/**
 * The course of one task as a row of pieces: attempts, waits between them, what is still to come. Their widths are not in proportion, since
 * attempts take milliseconds and waits may take hours: each doubling adds the same to a width, and each piece says how long it is.
 */

import type { AttemptLog, Gate } from 'redrive'
import { duration, kindWord } from 'redrive/internal'
import type { InspectorTaskView } from './source.ts'

export interface Piece {
  /** 'held': a wait that a server, a gate or a pause has made longer. 'mark': an instant. 'now': this moment. */
  readonly kind: 'attempt' | 'wait' | 'held' | 'mark' | 'now'
  readonly tone: 'good' | 'warn' | 'bad' | 'soft'
  /** A word or two above it. */
  readonly above: string
  /** Its length below it. */
  readonly below: string
  /** The whole of it, for a tooltip and for those who see no picture. */
  readonly text: string
  /** The piece lies ahead. */
  readonly isAhead?: true
  /** Pixels. */
  readonly width: number
}

/** Entries that are drawn; the words have them all. */
const DRAWN = 24

/** Gates that are no hindrance. */
const FREE: ReadonlySet<Gate> = new Set(['in-flight', 'started', 'due', 'ready'])

const widthOf = (ms: number): number => Math.round(26 + 5 * Math.log2(1 + Math.max(0, ms) / 250))

export function timelineOf({ task, attempts, decisions }: InspectorTaskView, now: number): readonly Piece[] {
  const shown = attempts.slice(-DRAWN)
  const left = attempts.length - shown.length
  const pieces: Piece[] = []
  if (left > 0) pieces.push(mark(`${left} more`, `${left} earlier entries are in the words below`, 'soft'))
  let end = left > 0 ? (shown[0]?.startedAt ?? now) : task.createdAt
  let why: AttemptLog | undefined
  for (const log of shown) {
    const gap = log.startedAt - end
    if (gap > 0) pieces.push(wait(gap, why, false))
    pieces.push(pieceOf(log))
    end = log.startedAt + log.durationMs
    why = log
  }
  const isOver = task.status !== 'PENDING' && task.status !== 'IN_FLIGHT'
  if (isOver) return [...pieces, ...endOf(task.status, shown.at(-1), task.reason)]
  const last = decisions.at(-1)
  const { gate, until } = (last?.kind === 'waits' && last.data) || {}
  if (now > end) pieces.push(wait(now - end, why, task.status === 'PENDING' && gate !== undefined && !FREE.has(gate)))
  if (task.status === 'IN_FLIGHT') {
    const text = `attempt ${task.attemptNumber} is under way`
    pieces.push({ kind: 'attempt', tone: 'warn', above: '…', below: '', text, width: 30 })
    return pieces
  }
  pieces.push({ kind: 'now', tone: 'soft', above: 'now', below: '', text: 'now', width: 22 })
  const at = until ?? task.nextAttemptAt
  if (at !== null && at > now) {
    pieces.push({
      ...wait(at - now, undefined, gate !== undefined && !FREE.has(gate)),
      isAhead: true,
      text: last?.text ?? '',
    })
    pieces.push({ ...mark('next', `the next attempt, at the soonest in ${duration(at - now)}`, 'soft'), isAhead: true })
  } else if (gate !== undefined && !FREE.has(gate))
    pieces.push({ ...wait(0, undefined, true), below: '?', isAhead: true, text: last?.text ?? '' })
  return pieces
}

function pieceOf({ attemptNumber, durationMs, responseStatus, errorMessage, kind, decision }: AttemptLog): Piece {
  if (responseStatus === null && errorMessage === null) return mark(kindWord(kind ?? 'released'), decision, 'warn')
  const isGood = kind === 'succeeded' || (responseStatus !== null && responseStatus < 400)
  const result = responseStatus === null ? (errorMessage ?? '') : `${responseStatus}`
  return {
    kind: 'attempt',
    tone: isGood ? 'good' : 'bad',
    above: responseStatus === null ? 'error' : result,
    below: duration(durationMs),
    text: `attempt ${attemptNumber}: ${result}, after ${duration(durationMs)}`,
    width: Math.max(34, widthOf(durationMs)),
  }
}

/** `after`: the entry that it follows, which says what it was for. */
function wait(ms: number, after: AttemptLog | undefined, isHeld: boolean): Piece {
  const { serverDelayMs, curveMs = 0, spreadMs = 0, delayMs = 0 } = after?.data ?? {}
  const isAsked = serverDelayMs !== undefined && serverDelayMs > curveMs
  const isGated = after?.data?.curveMs !== undefined && delayMs > Math.max(curveMs, serverDelayMs ?? 0) + spreadMs + 1
  const long = duration(ms)
  const why = isAsked ? ', as its server asked' : isGated || isHeld ? ', held' : ''
  return {
    kind: isAsked || isGated || isHeld ? 'held' : 'wait',
    tone: 'warn',
    above: isAsked ? 'asked' : isGated || isHeld ? 'held' : '',
    below: long,
    text: `waited ${long}${why}`,
    width: Math.max(long.length * 6.5 + 8, widthOf(ms)),
  }
}

const mark = (above: string, text: string, tone: Piece['tone']): Piece => ({
  kind: 'mark',
  tone,
  above,
  below: '',
  text,
  width: Math.max(18, above.length * 6.5 + 8),
})

const ENDS = {
  SUCCEEDED: ['delivered', 'good'],
  EXHAUSTED: ['dead letter', 'bad'],
  CANCELLED: ['cancelled', 'soft'],
} as const

function endOf(status: keyof typeof ENDS, last: AttemptLog | undefined, reason = ''): readonly Piece[] {
  const [word, tone] = ENDS[status]
  // a mark of its own, such as of a cancelled wait, is there already
  if (last?.kind === status.toLowerCase() && last.responseStatus === null && last.errorMessage === null) return []
  return [mark(word, reason ? `${word}: ${reason}` : word, tone)]
}

/** Rows of pieces, none wider than `width` unless one piece is. Each piece with its place. */
export function laidOut(
  pieces: readonly Piece[],
  width: number,
): { readonly rows: number; readonly placed: readonly (readonly [piece: Piece, x: number, row: number])[] } {
  let row = 0
  let x = 0
  const placed = pieces.map((piece) => {
    if (x > 0 && x + piece.width > width) {
      row++
      x = 0
    }
    const at = [piece, x, row] as const
    x += piece.width
    return at
  })
  return { rows: row + 1, placed }
}

/** The picture in words. */
export const spoken = (pieces: readonly Piece[]): string => pieces.map(({ text }) => text).join('; ')
