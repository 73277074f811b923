/**
 * What each process writes down about its leases, line by line, before anything follows from it. The lines of a process
 * that was killed are as good as those of any other: what it had not written yet, it had not acted upon.
 */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export type Line =
  | {
      readonly what: 'claimed'
      readonly taskId: string
      readonly token: number
      readonly at: number
      readonly until: number
      readonly lane: string
    }
  | { readonly what: 'renewed'; readonly token: number; readonly until: number }
  /** About to tell the store how an attempt ended; from here on the lease may be over. */
  | {
      readonly what: 'settling'
      readonly token: number
      readonly at: number
      readonly success: boolean
      /** How long the task is to wait for its next attempt; undefined: there is none. */
      readonly delayMs: number | undefined
      /** The attempt does not count. */
      readonly refund: boolean
    }
  /** `at`: the store's time. */
  | { readonly what: 'settled'; readonly token: number; readonly answer: string; readonly at: number }
  /** About to be killed. */
  | { readonly what: 'dying'; readonly at: number }

/** A lease, as far as it is known: never shown longer than it was. */
export interface LeaseSpan {
  readonly taskId: string
  readonly token: number
  /** Which process, and which of its lives: `2.7`. */
  readonly life: string
  readonly from: number
  /** The origin of its request. */
  readonly lane: string
  /** It ran out then, or its process was gone, if it was not given back before. */
  until: number
  /** When it may have been given back. */
  settlingAt: number
  /** When somebody else may have told a success: the task has ended, and every lease of it (S4). */
  endedAt: number
  /** When it told one itself. */
  successAt: number
  /** The store has said what became of it. */
  answer: string | undefined
  /** Until then the task is to wait, as the store has agreed; undefined: it has not. */
  waitsUntil: number | undefined
  /** It was asked that the attempt does not count. */
  isRefunded: boolean
  /** How long the task is to wait, as is asked. */
  delayMs: number | undefined
}

const FOREVER = Number.POSITIVE_INFINITY

export const logFile = (folder: string, life: string): string => join(folder, `${life}.log`)

/** The leases of all processes, by token. `killed`: when which life was ended from outside. */
export function readLeases(folder: string, killed: ReadonlyMap<string, number>): ReadonlyMap<number, LeaseSpan> {
  return new Map(readSpans(folder, killed).map((lease) => [lease.token, lease]))
}

/** The same as a list: of a store that gives a token twice, both. */
export function readSpans(folder: string, killed: ReadonlyMap<string, number>): readonly LeaseSpan[] {
  const all: LeaseSpan[] = []
  const gone = new Map(killed)
  for (const name of readdirSync(folder).filter((each) => each.endsWith('.log'))) {
    const life = name.slice(0, -'.log'.length)
    const leases = new Map<number, LeaseSpan>()
    for (const line of linesOf(readFileSync(join(folder, name), 'utf8'))) {
      if (line.what === 'dying') gone.set(life, line.at)
      else note(leases, all, life, line)
    }
  }
  for (const lease of all) lease.until = Math.min(lease.until, gone.get(lease.life) ?? FOREVER)
  const successes = new Map<string, number>()
  for (const { taskId, successAt } of all) {
    successes.set(taskId, Math.min(successes.get(taskId) ?? FOREVER, successAt))
  }
  for (const lease of all) lease.endedAt = successes.get(lease.taskId) ?? FOREVER
  return all
}

/** The last line may have been cut off with its process. */
function* linesOf(text: string): Iterable<Line> {
  for (const line of text.slice(0, text.lastIndexOf('\n') + 1).split('\n')) if (line !== '') yield JSON.parse(line)
}

function note(
  leases: Map<number, LeaseSpan>,
  all: LeaseSpan[],
  life: string,
  line: Exclude<Line, { what: 'dying' }>,
): void {
  if (line.what === 'claimed') {
    const { taskId, token, at: from, until, lane } = line
    const lease = { taskId, token, life, from, until, lane, ...UNKNOWN }
    leases.set(token, lease)
    all.push(lease)
    return
  }
  const lease = leases.get(line.token)
  if (!lease) return
  if (line.what === 'renewed') lease.until = Math.max(lease.until, line.until)
  else if (line.what === 'settling') {
    lease.settlingAt = Math.min(lease.settlingAt, line.at)
    if (line.success) lease.successAt = Math.min(lease.successAt, line.at)
    lease.delayMs = line.delayMs
    lease.isRefunded = line.refund
  } else {
    lease.answer = line.answer
    if (line.answer === 'applied' && lease.delayMs !== undefined) lease.waitsUntil = line.at + lease.delayMs
  }
}

const UNKNOWN = {
  settlingAt: FOREVER,
  successAt: FOREVER,
  endedAt: FOREVER,
  answer: undefined,
  waitsUntil: undefined,
  isRefunded: false,
  delayMs: undefined,
}
