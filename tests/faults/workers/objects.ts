/** What Workers and their objects leave behind. A request is over when the server says so: the process that dies with it closes it. */

import type { FlakyReport } from '../../servers/start.mjs'
import type { Check } from '../checks.ts'
import type { Evidence } from '../judge.ts'
import type { Accepted } from './callers.ts'

export interface WorkerFacts {
  readonly accepted: ReadonlyMap<string, Accepted>
  readonly done: readonly string[]
  /** Task -> its status, of all tasks in all objects. */
  readonly held: ReadonlyMap<string, string>
  /** Pending or in flight, as the objects count them. */
  readonly depth: number
  readonly drained: boolean
  /** Alarms that rejected, in what lived to tell. */
  readonly threw: readonly string[]
  readonly report: FlakyReport
}

export function ofWorkers({ accepted, done, held, depth, drained, threw, report }: WorkerFacts): Evidence {
  const rows = [...accepted].flatMap(([intent, { taskId }]) => {
    const status = held.get(taskId)
    return status === undefined ? [] : [[intent, { taskId, status, attemptNumber: 0 }] as const]
  })
  return {
    acknowledged: new Map([...accepted].map(([intent, { taskId }]) => [intent, taskId])),
    done,
    found: new Map(rows),
    visits: report.visits ?? [],
    effects: new Map(report.perIntent.map((each) => [each.intent, each.effects])),
    attempts: { overAt: ({ startedAt, endedAt }) => endedAt ?? startedAt },
    store: undefined,
    left: depth,
    drained,
    never: { 'alarms that threw': threw },
    own: [enough(accepted.size, done.length)],
  }
}

/** A run that hands hardly anything over has tried nothing. */
const enough = (accepted: number, done: number): Check => ({
  label: 'answered 202',
  found: `${accepted} of ${accepted + done}`,
  wanted: 'a quarter or more',
  ok: accepted > 0 && accepted * 4 >= accepted + done,
  offenders: [],
})
