/** Brings together what is judged after a run: from the file, from the server, and from what each process wrote down. */

import type { FlakyServer } from '../servers/start.mjs'
import { builtPackage, storeFile } from './built.ts'
import type { Row } from './checks.ts'
import type { Crew } from './crew.ts'
import { readLeases } from './log.ts'
import { leaseOf, type ProcessFacts } from './processes.ts'
import type { Producer } from './producer.ts'

/** What has happened. */
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
  const { visits = [], perIntent, injected, outcomes, inFlight } = await server.report({ visits: true })
  const held = await readStore(folder, acknowledged)
  const leases = readLeases(folder, crew.killed)
  const effects = new Map(perIntent.map((each) => [each.intent, each.effects]))
  const { deaths } = crew
  const facts = {
    ...held,
    acknowledged,
    unknown,
    refusals,
    soft,
    degraded: [...crew.degraded.keys()],
    visits,
    effects,
    leases,
    deaths,
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
    ['requests', visits.length, ''],
    ['  that failed by intent', injected.total, `${(injected.share * 100).toFixed(1)} %`],
    ['  answered from the key', outcomes.repeated ?? 0, 'the work was done, the answer lost'],
    ['  whose caller was gone', outcomes.caller_gone ?? 0, ''],
    ['  that outlived their lease', late, 'killed or frozen under them'],
    ['most at once at the server', inFlight.max, 'those that outlived a lease included'],
    ['leases given', leases.size, ''],
    ['  never settled', told(undefined), 'came back when they ran out, or their process was seen to be gone'],
    ['  settled too late', told('stale'), 'changed nothing'],
    ['  ended by the late success of another', overtaken, 'their requests may go on until the next renewal'],
    ['most attempts of a task', most, 'a crash counts; maxAttempts is the user’s to choose'],
    [
      'degraded',
      [...crew.degraded.values()].reduce((sum, count) => sum + count, 0),
      [...crew.degraded.keys()].join('; '),
    ],
    ['seconds', (tookMs / 1000).toFixed(1), ''],
  ]
  return { facts, figures }
}

async function readStore(
  folder: string,
  acknowledged: ReadonlyMap<string, string>,
): Promise<Pick<ProcessFacts, 'found' | 'rows' | 'counts'>> {
  const { sqliteStore } = await builtPackage()
  const store = sqliteStore({ path: storeFile(folder) })
  const found = new Map<string, Row>()
  for (const [intent, taskId] of acknowledged) {
    const row = await store.get(taskId)
    if (row) found.set(intent, row)
  }
  const rows: Row[] = []
  for (let cursor: string | undefined; ; ) {
    const page = await store.list({ limit: 1_000, ...(cursor === undefined ? {} : { cursor }) })
    rows.push(...page.tasks)
    cursor = page.cursor
    if (cursor === undefined) break
  }
  const counts = await store.counts()
  await store.close()
  return { found, rows, counts }
}
