/** The judge is judged: what it must notice, each by itself, and what it must let pass. */

import type { LeaseSpan } from './log.ts'
import { ofProcesses, type ProcessFacts } from './processes.ts'
import { brokenIn, COUNTS, judged, lease, row, visit } from './samples.ts'

const LIMIT = 1

const leases = (...list: readonly LeaseSpan[]) => new Map(list.map((each) => [each.token, each]))

/** One task, delivered at once. */
const fine: ProcessFacts = {
  acknowledged: new Map([['one', 't1']]),
  soft: [],
  degraded: [],
  refusals: [],
  unknown: [],
  found: new Map([['one', row]]),
  rows: [row],
  counts: COUNTS,
  visits: [visit(1, 50)],
  effects: new Map([['one', 1]]),
  leases: leases(lease(1, 0)),
  deaths: [],
  drained: true,
  limit: LIMIT,
}

const broken = (given: Partial<ProcessFacts>) => brokenIn(ofProcesses({ ...fine, ...given }))

const unsettled = { settlingAt: Infinity }

judged<Partial<ProcessFacts>>(
  broken,
  [
    ['refused', { refusals: ['one: full'] }],
    ['kept in memory without a word', { soft: ['two'] }],
    ['lost', { effects: new Map([['one', 0]]) }],
    ['lost', { found: new Map() }],
    ['lost', { found: new Map([['one', { ...row, status: 'EXHAUSTED' }]]) }],
    ['found under another id', { found: new Map([['one', { ...row, taskId: 't2' }]]) }],
    ['effects per intent', { effects: new Map([['one', 2]]) }],
    ['keys per intent', { visits: [visit(1, 50), visit(1, 600, { key: 'other' })] }],
    [
      'keys per intent',
      { visits: [visit(1, 50), visit(1, 600, { intent: 'two' }), visit(1, 1_100, { intent: 'two', key: 'x' })] },
    ],
    ['leases at once', { leases: leases(lease(1, 0), lease(2, 400, { taskId: 't2' })) }],
    ['requests at once', { visits: [visit(1, 50), visit(1, 100, { intent: 'two' })] }],
    ['tasks leased to two at once', { leases: leases(lease(1, 0), lease(2, 400)) }],
    ['tasks sent again before the attempt was over', { visits: [visit(1, 50), visit(1, 100)] }],
    [
      'tasks sent again before the attempt was over',
      { visits: [visit(1, 50, { by: '0.1 1 40' }), visit(1, 100, { by: '0.1 1 90' })] },
    ],
    ['Retry-After undercut', { visits: [visit(1, 50, { retryAfterMs: 1_000 }), visit(1, 1_000)] }],
    ['counts() beside the rows', { counts: { ...COUNTS, succeeded: 2 } }],
    ['accepted beside the rows', { rows: [row, row] }],
    ['processes that ended by themselves', { deaths: ['0.1 ended with 1'] }],
    ['left over at the end', { drained: false }],
  ],
  [
    ['a run in which all is well', {}],
    [
      'a second attempt once the lease of the first has run out, though its request is still open',
      {
        visits: [visit(1, 50, { endedAt: 3_000 }), visit(2, 1_100)],
        leases: leases(lease(1, 0, unsettled), lease(2, 1_000)),
      },
    ],
    [
      'a request that its process had let go of under its lease, and was frozen before it went out',
      {
        visits: [visit(2, 1_100), visit(1, 1_200, { by: '0.1 1 60' })],
        leases: leases(lease(1, 0, unsettled), lease(2, 1_000)),
      },
    ],
    [
      'a pause that is not kept, where the process died with the answer in its hands',
      {
        visits: [visit(1, 50, { retryAfterMs: 60_000 }), visit(2, 1_100)],
        leases: leases(lease(1, 0, { ...unsettled, answer: undefined }), lease(2, 1_000)),
      },
    ],
    [
      'a task that was kept in memory, and that was said',
      { soft: ['two'], degraded: ['storage_unavailable: the file is held'] },
    ],
    [
      'a place that a late success of another process has made free (S4)',
      { leases: leases(lease(1, 0, { endedAt: 300 }), lease(2, 300, { taskId: 't2' })) },
    ],
    [
      'a task that was taken and whose answer was lost',
      { rows: [row, { ...row, taskId: 't2' }], unknown: ['two'], counts: { ...COUNTS, succeeded: 2 } },
    ],
  ],
)
