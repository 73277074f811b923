/** Brings together what is judged after a run: from the store, as a page shows it, from the server, and from what pages said. */

import type { FlakyServer, Visit } from '../../servers/start.mjs'
import type { Check, Counts } from '../checks.ts'
import { degradedFigure, effectsOf, type Figure, requestFigures } from '../evidence.ts'
import type { Producer } from '../producer.ts'
import type { BrowserFacts, StoredRow } from './documents.ts'
import type { Fleet } from './fleet.ts'
import { isFirst } from './lives.ts'
import type { Calls } from './orders.ts'

/** What `look` of pages/tab.js gives. */
export interface Look {
  readonly counts: Counts
  readonly rows: readonly StoredRow[]
  readonly deadLetters: readonly string[]
}

export interface Story {
  readonly fleet: Fleet
  readonly producer: Producer
  readonly calls: Calls
  readonly drained: boolean
  readonly startedAt: number
  /** In flight over all tabs, at most. */
  readonly limit: number
  /** Of this kind of run. */
  readonly figures: readonly Figure[]
  readonly checks?: readonly Check[]
}

export async function gather(
  { fleet, producer, calls, drained, startedAt, limit, figures: own }: Story,
  server: FlakyServer,
): Promise<{ readonly facts: BrowserFacts; readonly figures: readonly Figure[] }> {
  const report = await server.report({ visits: true })
  const { visits = [], outcomes } = report
  const look = await lookInto<Look>(fleet, true)
  const acknowledged = new Map([...producer.acknowledged, ...calls.acknowledged])
  const soft = [...producer.soft, ...calls.soft]
  const { lives, deaths, uncaught, degraded } = fleet
  const facts: BrowserFacts = {
    ...look,
    acknowledged,
    soft,
    degraded: [...degraded.keys()],
    refusals: producer.refusals,
    visits,
    effects: effectsOf(report),
    lives,
    deaths,
    uncaught,
    wrong: calls.wrong,
    bodiless: calls.bodiless,
    turnedAway: calls.turnedAway,
    calls: calls.asked,
    waiting: calls.waiting.map((intent) => storyOf(intent, { fleet, startedAt, visits, rows: look.rows })),
    drained,
    limit,
  }
  const most = Math.max(0, ...look.rows.map(({ attemptNumber }) => attemptNumber))
  const figures: Figure[] = [
    ['tasks asked for', producer.asked, 'asking again included'],
    ['acknowledged', producer.acknowledged.size, 'each written down outside'],
    ['calls made', calls.asked, ''],
    ['  that became tasks', calls.acknowledged.size, 'each written down outside'],
    ['  settled', calls.settled, `${calls.orphans} more went with their page`],
    ['  settled elsewhere', calls.elsewhere, ''],
    [
      '  answered without a body',
      calls.bodiless.size,
      'their page was frozen or led away: plain fetch gets none either',
    ],
    ['  told that the circuit is open', calls.turnedAway.size, 'a row of failures; their tasks have ended'],
    ['accepted in memory only', soft.length, 'as was said: the store could not be opened'],
    ['neither acknowledged nor refused', producer.unknown.length, 'gone while it was asked'],
    ...own,
    ['documents', lives.size, 'a page, from its load until it is gone'],
    ...requestFigures(report, `${visits.filter(isFirst).length} of them first attempts of callers`),
    ['  whose page was gone', outcomes.caller_gone ?? 0, ''],
    ['dead letters', look.deadLetters.length, ''],
    ['most attempts of a task', most, 'a crash counts; maxAttempts is the user’s to choose'],
    degradedFigure(degraded),
    ['seconds', ((Date.now() - startedAt) / 1000).toFixed(1), ''],
  ]
  return { facts, figures }
}

interface Seen extends Pick<Story, 'fleet' | 'startedAt'> {
  readonly visits: readonly Visit[]
  readonly rows: readonly StoredRow[]
}

/** A call whose caller still waits, with all that the run knows of it: which page has it, what its task became, and which requests it made. */
function storyOf(intent: string, { fleet, startedAt, visits, rows }: Seen): string {
  const row = rows.find((each) => each.intent === intent)
  const became = row ? `${row.taskId} ${row.status} after ${row.attemptNumber}` : 'no task'
  const requests = visits.filter((visit) => visit.intent === intent)
  const at = requests[0]?.startedAt ?? startedAt
  const seen = requests.map((each) => `${each.by} ${each.status} at ${each.startedAt - at} ms`)
  return `${intent}: ${fleet.whereIs(intent, at)}; ${became}; ${seen.join(', ') || 'no request'}`
}

/** What the store holds, as one page of those that are there sees it. */
export async function lookInto<T>(fleet: Fleet, all: boolean): Promise<T> {
  const tab = fleet.ready[0]?.tab
  if (!tab) throw new Error('no tab is there to look through')
  return tab.run<T>(`look(${all})`)
}
