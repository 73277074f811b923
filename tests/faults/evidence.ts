/** Brings together what is judged after a run: from the file, from the server, and from what each process wrote down. */

import type { TaskStore } from '../../js/api/store.ts'
import type { FlakyReport, FlakyServer } from '../servers/start.mjs'
import { builtPackage, storeFile } from './built.ts'
import type { Counts, Row } from './checks.ts'
import type { Crew } from './crew.ts'
import { readLeases } from './log.ts'
import { leaseOf, type ProcessFacts } from './processes.ts'
import type { Producer } from './producer.ts'

export interface Story {
  readonly crew: Crew
  readonly producer: Producer
  readonly drained: boolean
  readonly folder: string
  readonly tookMs: number
  /** In flight over all processes, at most. */
  readonly limit: number
}

export type Figure = readonly [label: string, value: number | string, remark: string]

export async function gather(
  { crew, producer, drained, folder, tookMs, limit }: Story,
  server: FlakyServer,
): Promise<{ readonly facts: ProcessFacts; readonly figures: readonly Figure[] }> {
  const { acknowledged, unknown, refusals, soft } = producer
  const report = await server.report({ visits: true })
  const { visits = [], outcomes, inFlight } = report
  const { sqliteStore } = await builtPackage()
  const store = sqliteStore({ path: storeFile(folder) })
  const held = await readStore(store, acknowledged)
  await store.close()
  const leases = readLeases(folder, crew.killed)
  const facts = {
    ...held,
    acknowledged,
    unknown,
    refusals,
    soft,
    degraded: [...crew.degraded.keys()],
    visits,
    effects: effectsOf(report),
    leases,
    deaths: crew.deaths,
    drained,
    limit,
  }
  const late = visits.filter((visit) => (visit.endedAt ?? 0) > (leaseOf(visit, leases)?.until ?? 0)).length
  const answers = [...leases.values()].map(({ answer }) => answer)
  const told = (answer: string | undefined) => answers.filter((each) => each === answer).length
  const overtaken = [...leases.values()].filter(({ from, endedAt, until, settlingAt }) => {
    return endedAt > from && endedAt < Math.min(until, settlingAt)
  }).length
  const most = Math.max(0, ...held.rows.map(({ attemptNumber }) => attemptNumber))
  const figures: Figure[] = [
    ['tasks asked for', producer.asked, 'asking again included'],
    ['acknowledged', acknowledged.size, 'each written down outside'],
    ['accepted in memory only', soft.length, 'as their receipts say: the file could not be opened'],
    ['neither acknowledged nor refused', unknown.length, 'killed while it was asked'],
    ['processes killed', crew.kills, `${crew.lives} started`],
    ['  at the worst of moments', crew.aimed, 'written to the file, and nobody told yet'],
    ['frozen past their leases', crew.freezes, ''],
    ...requestFigures(report),
    ['  whose caller was gone', outcomes.caller_gone ?? 0, ''],
    ['  that outlived their lease', late, 'killed or frozen under them'],
    ['most at once at the server', inFlight.max, 'those that outlived a lease included'],
    ['leases given', leases.size, ''],
    ['  never settled', told(undefined), 'came back when they ran out, or their process was seen to be gone'],
    ['  settled too late', told('stale'), 'changed nothing'],
    ['  ended by the late success of another', overtaken, 'their requests may go on until the next renewal'],
    ['most attempts of a task', most, 'a crash counts; maxAttempts is the user’s to choose'],
    degradedFigure(crew.degraded),
    ['seconds', (tookMs / 1000).toFixed(1), ''],
  ]
  return { facts, figures }
}

export const effectsOf = ({ perIntent }: FlakyReport): ReadonlyMap<string, number> =>
  new Map(perIntent.map(({ intent, effects }) => [intent, effects]))

export const requestFigures = ({ visits = [], injected, outcomes }: FlakyReport, remark = ''): readonly Figure[] => [
  ['requests', visits.length, remark],
  ['  that failed by intent', injected.total, `${(injected.share * 100).toFixed(1)} %`],
  ['  answered from the key', outcomes.repeated ?? 0, 'the work was done, the answer lost'],
]

export const degradedFigure = (said: ReadonlyMap<string, number>): Figure => [
  'degraded',
  [...said.values()].reduce((sum, count) => sum + count, 0),
  [...said.keys()].join('; '),
]

export const words = (counts: ReadonlyMap<string, number>): string =>
  [...counts].map(([name, count]) => `${count} ${name}`).join(', ')

export interface Held {
  /** What `get` gives for each acknowledged intent. */
  readonly found: ReadonlyMap<string, Row>
  /** What `list` gives. */
  readonly rows: readonly Row[]
  readonly counts: Counts
}

export async function readStore(store: TaskStore, acknowledged: ReadonlyMap<string, string>): Promise<Held> {
  const found = new Map<string, Row>()
  for (const [intent, taskId] of acknowledged) {
    const row = await store.get(taskId)
    if (row) found.set(intent, row)
  }
  return { found, rows: await listed(store), counts: await store.counts() }
}

export async function listed(store: TaskStore, filter: { readonly status?: 'EXHAUSTED' } = {}): Promise<Row[]> {
  const rows: Row[] = []
  for (let cursor: string | undefined; ; ) {
    const page = await store.list({ ...filter, limit: 1_000, ...(cursor === undefined ? {} : { cursor }) })
    rows.push(...page.tasks)
    cursor = page.cursor
    if (cursor === undefined) return rows
  }
}
