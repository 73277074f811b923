// The course of a task as a picture: which pieces, in which order, and where they are put.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { AttemptLog, Decision } from '../../../js/api/task.ts'
import type { InspectorTaskView } from '../../../js/ui/inspector/source.ts'
import { laidOut, spoken, timelineOf } from '../../../js/ui/inspector/timeline.ts'
import { taskOf } from './inspector-setup.ts'

const log = (startedAt: number, more: Partial<AttemptLog> = {}): AttemptLog => ({
  taskId: 't',
  attemptNumber: 1,
  startedAt,
  durationMs: 100,
  responseStatus: 503,
  errorMessage: null,
  decision: '503',
  kind: 'retry',
  ...more,
})
const waits = (gate: NonNullable<Decision['data']>['gate'], until?: number): Decision => ({
  at: 0,
  kind: 'waits',
  text: `waits for ${gate}`,
  data: { ...(gate && { gate }), ...(until !== undefined && { until }) },
})
const viewOf = (more: Partial<InspectorTaskView>): InspectorTaskView => ({
  task: taskOf(1),
  attempts: [],
  decisions: [],
  ...more,
})
const short = (view: InspectorTaskView, now: number): string[] =>
  timelineOf(view, now).map(({ kind, above, below, isAhead }) =>
    [isAhead && 'ahead', kind, above, below].filter(Boolean).join(' '),
  )

test('attempts with the waits between them, this moment, and what is to come', () => {
  const attempts = [log(0), log(2_100), log(6_200, { responseStatus: null, errorMessage: 'reset' })]
  const task = taskOf(1, { nextAttemptAt: 14_300 })
  expect(short(viewOf({ task, attempts, decisions: [waits('due', 14_300)] }), 10_300)).toEqual([
    'attempt 503 100ms',
    'wait 2s',
    'attempt 503 100ms',
    'wait 4s',
    'attempt error 100ms',
    'wait 4s',
    'now now',
    'ahead wait 4s',
    'ahead mark next',
  ])
})

test('a wait that its server asked for, and one that a gate has made longer, are held', () => {
  const asked = log(0, { data: { serverDelayMs: 20_000, curveMs: 1_000, delayMs: 21_000, spreadMs: 1_000 } })
  const gated = log(21_100, { data: { curveMs: 2_000, delayMs: 9_000 } })
  const attempts = [asked, gated, log(30_200, { data: { curveMs: 1_000, delayMs: 1_000 } }), log(31_300)]
  expect(short(viewOf({ attempts, task: taskOf(1, { status: 'CANCELLED' }) }), 40_000)).toEqual([
    'attempt 503 100ms',
    'held asked 21s',
    'attempt 503 100ms',
    'held held 9s',
    'attempt 503 100ms',
    'wait 1s',
    'attempt 503 100ms',
    'mark cancelled',
  ])
})

test.each([
  ['circuit-open', 9_000, ['held held 5s', 'now now', 'ahead held held 4s', 'ahead mark next']],
  ['paused', undefined, ['held held 5s', 'now now', 'ahead held held ?']],
  ['ready', undefined, ['wait 5s', 'now now']],
] as const)('a task that waits at the gate %s', (gate, until, pieces) => {
  expect(short(viewOf({ decisions: [waits(gate, until)] }), 5_000)).toEqual(pieces)
})

test('an attempt that was given back is no attempt', () => {
  const released = log(1_000, { responseStatus: null, kind: 'released', durationMs: 0, decision: 'not sent' })
  expect(short(viewOf({ attempts: [released], task: taskOf(1, { status: 'CANCELLED' }) }), 9_000)).toEqual([
    'wait 1s',
    'mark released',
    'mark cancelled',
  ])
})

test.each([
  [{ status: 'SUCCEEDED' as const }, 'mark delivered'],
  [{ status: 'EXHAUSTED' as const, reason: 'max_attempts' as const }, 'mark dead letter'],
])('the end of %o', (more, last) => {
  expect(short(viewOf({ attempts: [log(0)], task: taskOf(1, more) }), 9_000).at(-1)).toBe(last)
})

test('an attempt under way', () => {
  const task = taskOf(1, { status: 'IN_FLIGHT', attemptNumber: 2 })
  const pieces = timelineOf(viewOf({ task, attempts: [log(0)], decisions: [waits('in-flight')] }), 1_100)
  expect(spoken(pieces)).toBe('attempt 1: 503, after 100ms; waited 1s; attempt 2 is under way')
})

test('of many entries the last are drawn, and how many are not', () => {
  const attempts = Array.from({ length: 100 }, (_, n) => log(n * 1_000, { attemptNumber: n + 1 }))
  const pieces = timelineOf(viewOf({ attempts }), 100_000)
  expect(pieces[0]?.text).toBe('76 earlier entries are in the words below')
  expect(pieces.filter(({ kind }) => kind === 'attempt')).toHaveLength(24)
})

test('a clock that went back makes no piece with less than no width', () => {
  const attempts = [log(5_000), log(1_000)]
  for (const { width } of timelineOf(viewOf({ attempts }), 0)) expect(width).toBeGreaterThan(0)
})

test('no piece lies over another or beyond the edge, at any width', () =>
  fc.assert(
    fc.property(
      fc.array(fc.nat({ max: 100_000_000 }), { maxLength: 60 }),
      fc.integer({ min: 240, max: 3_840 }),
      (gaps, width) => {
        let at = 0
        const attempts = gaps.map((gap) => {
          at += gap
          return log(at)
        })
        const { placed, rows } = laidOut(timelineOf(viewOf({ attempts }), at + 5_000), width)
        const ends: number[] = []
        for (const [piece, x, row] of placed) {
          expect(x).toBe(ends[row] ?? 0)
          ends[row] = x + piece.width
          expect(ends[row]).toBeLessThanOrEqual(width)
        }
        expect(rows).toBe(Math.max(1, ends.length))
      },
    ),
  ))
