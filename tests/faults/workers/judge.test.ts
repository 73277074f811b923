/** The judge of Workers is judged first: it notices each thing that must not happen. */

import { expect, test } from 'vitest'
import type { FlakyReport, Visit } from '../../servers/start.mjs'
import { type Evidence, judge } from './judge.ts'

const visit = (over: Partial<Visit> = {}): Visit => ({
  intent: 'order-1',
  attempt: 1,
  via: null,
  by: null,
  method: 'POST',
  key: 'key-1',
  outcome: 'done',
  status: 200,
  startedAt: 0,
  endedAt: 100,
  retryAfterMs: null,
  ...over,
})

const report = (visits: readonly Visit[], effects = 1): FlakyReport =>
  ({ visits, perIntent: [{ intent: 'order-1', effects }] }) as unknown as FlakyReport

const good: Evidence = {
  accepted: new Map([['order-1', { taskId: 'task-1', principal: null }]]),
  done: [],
  held: new Map([['task-1', 'SUCCEEDED']]),
  depth: 0,
  drained: true,
  threw: [],
  report: report([visit()]),
}

const broken = (over: Partial<Evidence>): string[] =>
  judge({ ...good, ...over })
    .filter(({ ok }) => !ok)
    .map(({ label }) => label)

test('finds nothing where all is well', () => {
  expect(broken({})).toEqual([])
})

test.each<readonly [string, Partial<Evidence>]>([
  ['answered 202', { accepted: new Map(), done: ['order-1'], held: new Map() }],
  ['answered 202, and lost', { held: new Map() }],
  ['answered 202, and not SUCCEEDED', { held: new Map([['task-1', 'EXHAUSTED']]) }],
  ['effects per intent', { report: report([visit()], 2) }],
  ['effects per intent', { report: report([visit()], 0) }],
  ['keys per intent', { report: report([visit(), visit({ key: 'key-2', startedAt: 200, endedAt: 300 })]) }],
  ['tasks sent by two at once', { report: report([visit(), visit({ startedAt: 50, endedAt: 150 })]) }],
  ['alarms that threw', { threw: ['Error: out of disk'] }],
  ['left over at the end', { depth: 1 }],
  ['left over at the end', { drained: false }],
])('%s', (label, over) => {
  expect(broken(over)).toEqual([label])
})
