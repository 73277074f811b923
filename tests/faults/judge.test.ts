/** The judge is judged: what it must notice, each by itself, and two runs that are wrong on purpose. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import type { Visit } from '../servers/start.mjs'
import { judge } from './judge.ts'
import type { LeaseSpan } from './log.ts'
import { ofProcesses, type ProcessFacts } from './processes.ts'

const LIMIT = 1

const lease = (token: number, from: number, given: Partial<LeaseSpan> = {}): LeaseSpan => ({
  taskId: 't1',
  token,
  life: '0.1',
  from,
  until: from + 1_000,
  settlingAt: from + 500,
  successAt: Infinity,
  endedAt: Infinity,
  answer: 'applied',
  lane: 'http://a',
  waitsUntil: undefined,
  delayMs: undefined,
  isRefunded: false,
  ...given,
})

const visit = (token: number, startedAt: number, given: Partial<Visit> = {}): Visit => ({
  intent: 'one',
  attempt: token,
  via: 'enqueue',
  by: `0.1 ${token}`,
  method: 'POST',
  key: 'k',
  outcome: 'done',
  status: 200,
  startedAt,
  endedAt: startedAt + 400,
  retryAfterMs: null,
  ...given,
})

const leases = (...list: readonly LeaseSpan[]) => new Map(list.map((each) => [each.token, each]))
const row = { taskId: 't1', status: 'SUCCEEDED', attemptNumber: 1 }

/** One task, delivered at once. */
const fine: ProcessFacts = {
  acknowledged: new Map([['one', 't1']]),
  soft: [],
  degraded: [],
  refusals: [],
  unknown: [],
  found: new Map([['one', row]]),
  rows: [row],
  counts: { pending: 0, inFlight: 0, succeeded: 1, exhausted: 0, cancelled: 0, purged: 0 },
  visits: [visit(1, 50)],
  effects: new Map([['one', 1]]),
  leases: leases(lease(1, 0)),
  deaths: [],
  drained: true,
  limit: LIMIT,
}

const broken = (given: Partial<ProcessFacts>) =>
  judge(ofProcesses({ ...fine, ...given }))
    .filter(({ ok }) => !ok)
    .map(({ label }) => label)

describe('what it notices', () => {
  const faults: readonly (readonly [label: string, evidence: Partial<ProcessFacts>])[] = [
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
    ['counts() beside the rows', { counts: { ...fine.counts, succeeded: 2 } }],
    ['accepted beside the rows', { rows: [row, row] }],
    ['processes that ended by themselves', { deaths: ['0.1 ended with 1'] }],
    ['left over at the end', { drained: false }],
  ]

  test.each(faults)('%s', (label, evidence) => {
    expect(broken(evidence)).toContain(label)
  })
})

describe('what it lets pass', () => {
  test('a run in which all is well', () => {
    expect(broken({})).toEqual([])
  })

  test('a second attempt once the lease of the first has run out, though its request is still open', () => {
    const visits = [visit(1, 50, { endedAt: 3_000 }), visit(2, 1_100)]
    expect(broken({ visits, leases: leases(lease(1, 0, { settlingAt: Infinity }), lease(2, 1_000)) })).toEqual([])
  })

  test('a request that its process had let go of under its lease, and was frozen before it went out', () => {
    const visits = [visit(2, 1_100), visit(1, 1_200, { by: '0.1 1 60' })]
    expect(broken({ visits, leases: leases(lease(1, 0, { settlingAt: Infinity }), lease(2, 1_000)) })).toEqual([])
  })

  test('a pause that is not kept, where the process died with the answer in its hands', () => {
    const visits = [visit(1, 50, { retryAfterMs: 60_000 }), visit(2, 1_100)]
    const died = lease(1, 0, { answer: undefined, settlingAt: Infinity })
    expect(broken({ visits, leases: leases(died, lease(2, 1_000)) })).toEqual([])
  })

  test('a task that was kept in memory, and that was said', () => {
    expect(broken({ soft: ['two'], degraded: ['storage_unavailable: the file is held'] })).toEqual([])
  })

  test('a place that a late success of another process has made free (S4)', () => {
    const younger = lease(1, 0, { endedAt: 300 })
    expect(broken({ leases: leases(younger, lease(2, 300, { taskId: 't2' })) })).toEqual([])
  })

  test('a task that was taken and whose answer was lost', () => {
    const rows = [row, { ...row, taskId: 't2' }]
    expect(broken({ rows, unknown: ['two'], counts: { ...fine.counts, succeeded: 2 } })).toEqual([])
  })
})

describe('a run with real processes', () => {
  async function finish(...args: string[]): Promise<{ code: number; output: string }> {
    const program = fileURLToPath(new URL('./run.ts', import.meta.url))
    const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (output += chunk))
    const [code] = await once(child, 'close')
    return { code: code as number, output }
  }

  const small = ['--tasks', '40', '--kills', '1']

  test.each([
    ['no-lease', /✗ tasks leased to two at once/],
    ['no-key', /✗ effects per intent/],
  ])('--break %s is found out', { timeout: 60_000 }, async (name, said) => {
    const { code, output } = await finish(...small, '--break', name)
    expect(output).toMatch(said)
    expect(code).toBe(1)
  })

  test('a wrong option is named, with what was expected', async () => {
    expect(await finish('--kills', 'many')).toMatchObject({
      code: 1,
      output: expect.stringContaining("--kills: expected a whole number from 0 to 100000, got 'many'"),
    })
  })
})
