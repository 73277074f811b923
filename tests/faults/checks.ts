/** What every run must keep, whoever was killed in it; and how a check is said. */

import type { Visit } from '../servers/start.mjs'

export interface Check {
  readonly label: string
  readonly found: string
  readonly wanted: string
  readonly ok: boolean
  /** A few that are not as they must be. */
  readonly offenders: readonly string[]
}

/** What the store holds of a task at the end. */
export interface Row {
  readonly taskId: string
  readonly status: string
  readonly attemptNumber: number
  /** Why it was given up. */
  readonly reason?: string
}

export type Counts = Readonly<
  Record<'pending' | 'inFlight' | 'succeeded' | 'exhausted' | 'cancelled' | 'purged', number>
>

/** Two processes read one clock, each a little late. */
export const GRAIN_MS = 20
/** The server counts parts of a millisecond, a queue whole ones. */
export const TICK_MS = 2
export const FOREVER: number = Number.POSITIVE_INFINITY

export const none = (label: string, offenders: readonly string[], say = (offender: string) => offender): Check => ({
  label,
  found: String(offenders.length),
  wanted: '0',
  ok: offenders.length === 0,
  offenders: offenders.map(say),
})

export const atMost = (label: string, found: number, limit: number): Check => ({
  label,
  found: String(found),
  wanted: `at most ${limit}`,
  ok: found <= limit,
  offenders: [],
})

/** What was not answered may be there or not: there are so many at the least and at the most. */
export const between = (label: string, [least, most]: readonly [number, number], found: number): Check => ({
  label,
  found: `${least} to ${most}, ${found}`,
  wanted: 'within',
  ok: found >= least && found <= most,
  offenders: [],
})

export function deadAreShown(rows: readonly Row[], deadLetters: readonly string[]): Check {
  const shown = new Set(deadLetters)
  const dead = new Set(rows.filter(({ status }) => status === 'EXHAUSTED').map(({ taskId }) => taskId))
  const wrong = [...[...dead].filter((id) => !shown.has(id)), ...[...shown].filter((id) => !dead.has(id))]
  return none('H12 dead letters and what is shown of them differ', wrong)
}

/** The longest that nothing moved for after the last blow. */
export interface Still {
  readonly stoodStillMs: number
  readonly mayStandStillMs: number
}

export const stoodStill = ({ stoodStillMs, mayStandStillMs }: Still): Check =>
  atMost('H14 ms in which nothing moved after the last blow', Math.round(stoodStillMs), mayStandStillMs)

/** Exactly one for what was acknowledged, and never more than one. */
export function one(
  label: string,
  intents: readonly string[],
  all: readonly string[],
  of: (intent: string) => number,
): Check {
  const sure = new Set(intents)
  const numbers = intents.map(of)
  const [least, most] = [Math.min(...numbers), Math.max(...all.map(of))]
  const offenders = all.filter((intent) => of(intent) > 1 || (sure.has(intent) && of(intent) !== 1))
  return {
    label,
    found: least === most ? String(most) : `${least} to ${most}`,
    wanted: '1',
    ok: offenders.length === 0 && intents.length > 0,
    offenders: offenders.map((intent) => `${intent}: ${of(intent)}`),
  }
}

export const keysOf = (visits: readonly Visit[]): ReadonlyMap<string, ReadonlySet<string>> =>
  new Map(
    [...grouped(visits, ({ intent }) => intent)].map(([intent, own]) => [
      intent,
      new Set(own.map(({ key }) => key ?? '')),
    ]),
  )

/** The counters of the store, which are kept as tasks change, beside what is there. */
export function countsAgree(
  { pending, inFlight, succeeded, exhausted, cancelled, purged }: Counts,
  rows: readonly Row[],
): Check {
  const tally = (status: string) => rows.filter((row) => row.status === status).length
  const wrong = [
    ['pending', pending, tally('PENDING')],
    ['in flight', inFlight, tally('IN_FLIGHT')],
    ['succeeded', succeeded, tally('SUCCEEDED')],
    ['exhausted', exhausted, tally('EXHAUSTED')],
    ['cancelled', cancelled, tally('CANCELLED')],
    ['purged', purged, 0],
  ].filter(([, said, counted]) => said !== counted)
  return {
    label: 'counts() beside the rows',
    found: wrong.length === 0 ? 'agree' : `${wrong.length} differ`,
    wanted: 'agree',
    ok: wrong.length === 0,
    offenders: wrong.map(([name, said, counted]) => `${name}: ${said} said, ${counted} there`),
  }
}

export const leftOver = (left: number, drained: boolean): Check => ({
  label: 'left over at the end',
  found: String(left),
  wanted: '0',
  ok: drained && left === 0,
  offenders: [],
})

/** The most that were open at one moment; at equal times an end comes before a start. */
export function mostAtOnce(spans: readonly (readonly [from: number, until: number])[]): number {
  const steps = spans
    .filter(([from, until]) => until > from)
    .flatMap(([from, until]) => [
      { at: from, by: 1 },
      { at: until, by: -1 },
    ])
  steps.sort((a, b) => a.at - b.at || a.by - b.by)
  let open = 0
  let most = 0
  for (const { by } of steps) {
    open += by
    most = Math.max(most, open)
  }
  return most
}

/** By what `group` gives of each, in their order. */
export function grouped<T, Name>(list: readonly T[], group: (item: T) => Name): ReadonlyMap<Name, readonly T[]> {
  const groups = new Map<Name, T[]>()
  for (const item of list) {
    const own = groups.get(group(item))
    if (own) own.push(item)
    else groups.set(group(item), [item])
  }
  return groups
}

/** How often there is each. */
export const tally = (names: readonly string[]): ReadonlyMap<string, number> =>
  new Map([...grouped(names, (name) => name)].map(([name, { length }]) => [name, length]))

/** Each with the one before it in its group. */
export function pairs<T>(list: readonly T[], group: (item: T) => string): [T, T][] {
  const last = new Map<string, T>()
  return list.flatMap((item) => {
    const before = last.get(group(item))
    last.set(group(item), item)
    return before === undefined ? [] : [[before, item] as [T, T]]
  })
}
