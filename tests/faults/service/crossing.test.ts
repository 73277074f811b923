/** The judge lets a request pass that crosses the close of its connection, and no other that is cut. */

import { describe, expect, test } from 'vitest'
import type { Call } from './clients.ts'
import type { ServiceFacts } from './facts.ts'
import { exitLaws } from './laws-callers.ts'

const SIGNAL_AT = 10_000

const broken = (sinceMs: number, tookMs: number, given: Partial<Call> = {}): readonly string[] | undefined => {
  const askedAt = SIGNAL_AT + sinceMs
  const cut: Call = {
    ...{ kind: 'again', intent: 'one', life: '0.1', outcome: 'cut', askedAt, endedAt: askedAt + tookMs },
    ...{ message: 'ECONNRESET', isKept: true },
    ...given,
  }
  const facts: Pick<ServiceFacts, 'exits' | 'deaths' | 'struck' | 'calls' | 'exitMs'> = {
    ...{ exits: [], deaths: [], exitMs: 1_000, calls: [cut] },
    struck: [{ kind: 'drain', life: '0.1', from: SIGNAL_AT, until: SIGNAL_AT + 1_500 }],
  }
  return exitLaws(facts as ServiceFacts)['answers cut by a process that was told to end']
}

describe('cut by a process that was told to end', () => {
  test.each([
    ['half a second later, as it closes kept connections', 497],
    ['later, since it had no quiet moment', 1_600],
  ])('no fault is a request on a kept connection, %s', (_, sinceMs) => {
    expect(broken(sinceMs, 3)).toEqual([])
  })

  test.each<[string, number, number, Partial<Call>]>([
    ['before it closes kept connections', 300, 3, {}],
    ['long after it has closed them', 2_000, 3, {}],
    ['on a new connection', 497, 3, { isKept: false }],
    ['that it had time to read', 497, 200, {}],
  ])('a request %s', (_, sinceMs, tookMs, given) => {
    expect(broken(sinceMs, tookMs, given)).toEqual(['again of one at 0.1: ECONNRESET'])
  })
})
