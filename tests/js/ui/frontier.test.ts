import { expect, test } from 'vitest'
import { APART, placed, scalesOf } from '../../../js/ui/lab/frontier-marks.ts'

const row = (waitCv: number, idle: number) => ({
  name: `${waitCv} ${idle}`,
  waitCv,
  idle,
  peak: 1,
  loadCv: null,
  lagMean: 0,
  lagWorst: 0,
})
const distance = (a: { x: number; y: number }, b: { x: number; y: number }) => Math.hypot(a.x - b.x, a.y - b.y)

test.each([
  [
    'three in one corner, more beside them',
    [
      [0, 0.95],
      [0, 0.95],
      [0.01, 0.95],
      [0.03, 0.94],
      [0.08, 0.84],
      [0.14, 0.77],
    ],
  ],
  ['sixteen in one place', Array.from({ length: 16 }, () => [0.2, 0.5])],
  [
    'one at each corner',
    [
      [0, 0],
      [0, 1],
      [1.4, 0],
      [1.4, 1],
    ],
  ],
])('%s: no number of the frontier covers another or a point', (_, points) => {
  for (const width of [330, 640]) {
    const rows = points.map(([cv = 0, idle = 0]) => row(cv, idle))
    const marks = placed(rows, scalesOf(rows, width), true)
    const numbers = marks.map(({ textX: x, textY: y }) => ({ x, y }))
    for (const [i, number] of numbers.entries()) {
      for (const other of numbers.slice(i + 1)) expect(distance(number, other)).toBeGreaterThan(APART)
      for (const point of marks) expect(distance(number, point)).toBeGreaterThan(APART)
      expect(number.x).toBeLessThan(width)
    }
  }
})
