/** The judge of Workers is judged first: it notices each thing that must not happen. */

import { expect, test } from 'vitest'
import type { FlakyReport, Visit } from '../../servers/start.mjs'
import { brokenIn, visit } from '../samples.ts'
import { ofWorkers, type WorkerFacts } from './objects.ts'

const report = (visits: readonly Visit[], effects = 1): FlakyReport =>
  ({ visits, perIntent: [{ intent: 'one', effects }] }) as unknown as FlakyReport

const good: WorkerFacts = {
  accepted: new Map([['one', { taskId: 'task-1', principal: null }]]),
  done: [],
  held: new Map([['task-1', 'SUCCEEDED']]),
  depth: 0,
  drained: true,
  threw: [],
  report: report([visit(1, 0)]),
}

const broken = (over: Partial<WorkerFacts>): string[] => brokenIn(ofWorkers({ ...good, ...over }))

test('finds nothing where all is well', () => {
  expect(broken({})).toEqual([])
})

test.each<readonly [string, Partial<WorkerFacts>]>([
  ['answered 202', { accepted: new Map(), done: ['one'], held: new Map() }],
  ['lost', { held: new Map() }],
  ['lost', { held: new Map([['task-1', 'EXHAUSTED']]) }],
  ['effects per intent', { report: report([visit(1, 0)], 2) }],
  ['lost, effects per intent', { report: report([visit(1, 0)], 0) }],
  ['keys per intent', { report: report([visit(1, 0), visit(2, 500, { key: 'key-2' })]) }],
  ['tasks sent again before the attempt was over', { report: report([visit(1, 0), visit(2, 50)]) }],
  ['alarms that threw', { threw: ['Error: out of disk'] }],
  ['left over at the end', { depth: 1 }],
  ['left over at the end', { drained: false }],
])('%s', (label, over) => {
  expect(broken(over).join(', ')).toBe(label)
})
