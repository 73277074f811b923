import { expect, test } from 'vitest'
import { presets } from '../../../js/options/presets.ts'
import { FIRST_STATE, fragmentOf, type LabState, stateOf } from '../../../js/ui/lab/state.ts'

const other: LabState = {
  view: 'outage',
  policy: { policyId: 'a&b=#c', strategy: 'table', delaysMs: [1_000, 2_500] },
  versus: presets.svix,
  retryAfter: 'Fri, 27 Nov 2026 12:00:00 GMT',
  jobs: 1_000_000,
  seed: 42,
  outage: {
    clients: 20_000,
    capacity: 500,
    load: 0.9,
    outageMs: 20_000,
    backlog: 'short',
    outage: 'refusing',
    calls: 'awaited',
    gates: 'none',
  },
}

test('a link says what is shown, and the first state in nothing', () => {
  expect(fragmentOf(FIRST_STATE)).toBe('#redrive-curve?')
  expect(stateOf(fragmentOf(FIRST_STATE))).toEqual(FIRST_STATE)
  expect(stateOf(fragmentOf(other))).toEqual(other)
})

test('the fragment of another is none of ours', () => {
  for (const fragment of ['', '#', '#top', '#redrive-curve', '#view=crowd']) expect(stateOf(fragment)).toBeNull()
})

test.each([
  ['a number out of range', 'jobs=1000001'],
  ['no number', 'jobs=many'],
  ['an empty number', 'jobs='],
  ['a word that there is not', 'view=pie'],
  ['a policy that is cut off', 'policy=%7B%22strategy%22'],
  ['a policy that is a list', 'policy=[1]'],
  ['a policy that is null', 'policy=null'],
  ['a policy that is too long', `policy=${encodeURIComponent(JSON.stringify({ policyId: 'x'.repeat(10_000) }))}`],
])('%s stays as it is at first', (_, part) => {
  expect(stateOf(`#redrive-curve?${part}`)).toEqual(FIRST_STATE)
})
