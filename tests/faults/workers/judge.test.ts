/** The judge of Workers is judged first: it notices each thing that must not happen. */

import { expect, test } from 'vitest'
import type { FlakyReport, Visit } from '../../servers/start.mjs'
import { judge } from '../judge.ts'
import { ofWorkers, type WorkerFacts } from './objects.ts'

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

const good: WorkerFacts = {
  accepted: new Map([['order-1', { taskId: 'task-1', principal: null }]]),
  done: [],
  held: new Map([['task-1', 'SUCCEEDED']]),
  depth: 0,
  drained: true,
  threw: [],
  report: report([visit()]),
}

const broken = (over: Partial<WorkerFacts>): string[] =>
  judge(ofWorkers({ ...good, ...over }))
    .filter(({ ok }) => !ok)
    .map(({ label }) => label)

test('finds nothing where all is well', () => {
  expect(broken({})).toEqual([])
})

test.each<readonly [string, Partial<WorkerFacts>]>([
  ['answered 202', { accepted: new Map(), done: ['order-1'], held: new Map() }],
  ['lost', { held: new Map() }],
  ['lost', { held: new Map([['task-1', 'EXHAUSTED']]) }],
  ['effects per intent', { report: report([visit()], 2) }],
  ['lost, effects per intent', { report: report([visit()], 0) }],
  ['keys per intent', { report: report([visit(), visit({ key: 'key-2', startedAt: 200, endedAt: 300 })]) }],
  [
    'tasks sent again before the attempt was over',
    { report: report([visit(), visit({ startedAt: 50, endedAt: 150 })]) },
  ],
  ['alarms that threw', { threw: ['Error: out of disk'] }],
  ['left over at the end', { depth: 1 }],
  ['left over at the end', { drained: false }],
])('%s', (label, over) => {
  expect(broken(over).join(', ')).toBe(label)
})
