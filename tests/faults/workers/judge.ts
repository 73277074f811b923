/** Judges a run by what the server saw and what the objects hold. */

import type { FlakyReport, Visit } from '../../servers/start.mjs'
import { type Check, GRAIN_MS, keysOf, mostAtOnce, none, one } from '../checks.ts'
import type { Accepted } from './callers.ts'

export interface Evidence {
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

export function judge({ accepted, done, held, depth, drained, threw, report }: Evidence): readonly Check[] {
  const visits = report.visits ?? []
  const keys = keysOf(visits)
  const effects = new Map(report.perIntent.map((each) => [each.intent, each.effects]))
  const sure = [...accepted.keys(), ...done]
  const everyone = [...new Set([...sure, ...keys.keys()])]
  const statusOf = (intent: string): string => held.get(accepted.get(intent)?.taskId ?? '') ?? 'lost'
  const ended = [...accepted.keys()].filter((intent) => statusOf(intent) !== 'lost')
  return [
    {
      label: 'answered 202',
      found: `${accepted.size} of ${accepted.size + done.length}`,
      wanted: 'a quarter or more',
      ok: accepted.size > 0 && accepted.size * 4 >= accepted.size + done.length,
      offenders: [],
    },
    none(
      'answered 202, and lost',
      [...accepted.keys()].filter((intent) => statusOf(intent) === 'lost'),
    ),
    none(
      'answered 202, and not SUCCEEDED',
      ended.filter((intent) => statusOf(intent) !== 'SUCCEEDED'),
    ),
    one('effects per intent', sure, everyone, (intent) => effects.get(intent) ?? 0),
    one('keys per intent', sure, everyone, (intent) => keys.get(intent)?.size ?? 0),
    none(
      'tasks sent by two at once',
      [...keys.keys()].filter((intent) => isTwice(visits, intent)),
    ),
    none('alarms that threw', threw),
    {
      label: 'left over at the end',
      found: String(depth),
      wanted: '0',
      ok: drained && depth === 0,
      offenders: [],
    },
  ]
}

function isTwice(visits: readonly Visit[], intent: string): boolean {
  const own = visits.filter((visit) => visit.intent === intent)
  return mostAtOnce(own.map(({ startedAt, endedAt }) => [startedAt + GRAIN_MS, endedAt ?? startedAt])) > 1
}
