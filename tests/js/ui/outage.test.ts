import { expect, test } from 'vitest'
import type { OutageAnswer } from '../../../js/ui/engine/model.ts'
import { outageView } from '../../../js/ui/lab/outage-view.ts'
import { FIRST_STATE } from '../../../js/ui/lab/state.ts'

const seconds = (...values: number[]) => Uint32Array.from(values)
const answer = (change: Partial<OutageAnswer> = {}): OutageAnswer => ({
  calls: seconds(7, 7, 7),
  requests: seconds(7, 9, 7),
  answered: seconds(7, 0, 14),
  open: seconds(0, 7, 0),
  downAtS: 1,
  backAtS: 2,
  drainedS: 141,
  lastS: 150,
  amplification: 1,
  askedInVain: 1.25,
  lost: 0,
  totalCalls: 21,
  collapsed: false,
  idealS: 140,
  ...change,
})
const enqueued = FIRST_STATE.outage
const besides = (sight: ReturnType<typeof outageView>) => sight.figures.map(({ beside }) => beside)

test('an outage says how many requests a call took, and nothing of what is not computed yet', () => {
  const sight = outageView(answer(), enqueued)
  expect(sight.summary).toContain('It took 1.00 requests per call.')
  expect(besides(sight)).toEqual([undefined, undefined, undefined, undefined, undefined])
})

test('each figure of enqueued calls stands beside that of awaited ones, and the other way round', () => {
  const other = answer({ drainedS: 21, lastS: null, amplification: 1.5, askedInVain: 1, lost: 7 })
  expect(besides(outageView(answer(), enqueued, other))).toEqual([
    'awaited: 21 s',
    'awaited: –',
    'awaited: 1.50',
    'awaited: 1.00',
    'awaited: 33 %',
  ])
  expect(besides(outageView(answer(), { ...enqueued, calls: 'awaited' }, answer({ collapsed: true })))[0]).toBe(
    'enqueued: never',
  )
})
