/** What is measured of takeovers, and what is found to be too late. */

import { describe, expect, test } from 'vitest'
import type { Visit } from '../servers/start.mjs'
import { FOREVER } from './checks.ts'
import type { LeaseSpan } from './log.ts'
import { lease as leaseFrom, visit } from './samples.ts'
import { judgeTakeovers, takeoversOf } from './takeover.ts'

const lease = (token: number, life: string, given: Partial<LeaseSpan> = {}): LeaseSpan =>
  leaseFrom(token, 0, { life, until: 30_000, settlingAt: FOREVER, answer: undefined, ...given })

const KILLED_AT = 1_000
const times = (leases: readonly LeaseSpan[], ...visits: readonly Visit[]) =>
  takeoversOf({
    leases: new Map(leases.map((each) => [each.token, each])),
    visits,
    killed: new Map([['dead', KILLED_AT]]),
  })

test('a task that was in flight counts from the kill to its next attempt', () => {
  const leases = [lease(1, 'dead'), lease(2, 'other')]
  expect(times(leases, visit(1, 900), visit(2, 1_450))).toEqual([450])
})

test('so does one that was claimed and not sent, and one that two processes died with', () => {
  const leases = [lease(1, 'dead'), lease(2, 'dead'), lease(3, 'other')]
  expect(times(leases, visit(3, 1_800))).toEqual([800, 800])
})

test('a task that is never sent again is late for ever', () => {
  const [late] = times([lease(1, 'dead')], visit(1, 900))
  expect(late).toBe(FOREVER)
  const { checks } = judgeTakeovers('processes', [FOREVER])
  expect(checks.map(({ ok }) => ok)).toEqual([true, false])
})

test('what was about to be settled, or another process had, is not counted', () => {
  expect(times([lease(1, 'dead', { settlingAt: 990 }), lease(2, 'other', { taskId: 't2' })])).toEqual([])
})

describe('the judge', () => {
  const verdict = (...list: readonly number[]) => judgeTakeovers('processes', list).checks.every(({ ok }) => ok)

  test('holds the 99th of a hundred to two seconds', () => {
    const fast = Array.from({ length: 98 }, () => 300)
    expect(verdict(...fast, 2_000, 9_000)).toBe(true)
    expect(verdict(...fast, 2_001, 9_000)).toBe(false)
  })

  test('is not content with nothing', () => {
    expect(verdict()).toBe(false)
  })
})
