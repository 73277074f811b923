/** The ends of tasks that are to be told, and those that were: what rows, wishes and the receiver say of them. */

import type { TaskRow } from './facts.ts'
import { ENDS, type End, type Intent } from './intents.ts'
import type { CallbackVisit } from './receiver.ts'

/** An end that a task stands at, and that its callback wants. */
export interface WantedEnd {
  readonly intent: string
  readonly taskId: string
  readonly end: End
}

/** The rows of intents, by the keys and tenants that these were posted with. */
export function ownRows(rows: readonly TaskRow[], intents: readonly Intent[]): readonly (readonly [Intent, TaskRow])[] {
  const known = new Map(intents.map((intent) => [`${intent.tenant} ${intent.key}`, intent]))
  return rows.flatMap((row) => {
    const intent = known.get(`${row.tenant} ${row.idempotencyKey}`)
    return intent ? [[intent, row] as const] : []
  })
}

/** undefined: the row is not at an end. */
export const endOf = ({ status }: TaskRow): End | undefined => ENDS.find((end) => end.toUpperCase() === status)

export const wants = ({ callback }: Intent, end: End): boolean =>
  callback !== undefined && (callback.on ?? ENDS).includes(end)

export const wantedEnds = (rows: readonly TaskRow[], intents: readonly Intent[]): readonly WantedEnd[] =>
  ownRows(rows, intents).flatMap(([intent, row]) => {
    const end = endOf(row)
    return end && wants(intent, end) ? [{ intent: intent.name, taskId: row.taskId, end }] : []
  })

/** The instant of an end, as its callback tells it. */
export const toldAt = ({ message }: CallbackVisit): number => Date.parse(message?.timestamp ?? '')

/** The receiver has said that it has it. */
export const isHeard = ({ status }: CallbackVisit): boolean => status !== null && status >= 200 && status < 300

/** Those that no callback has told which the receiver took, of ends no earlier than `since` says of their task. */
export function untoldEnds(
  wanted: readonly WantedEnd[],
  visits: readonly CallbackVisit[],
  since: (taskId: string) => number,
): readonly WantedEnd[] {
  const told = new Map<string, number>()
  for (const visit of visits.filter(isHeard)) {
    const { type = '', data } = visit.message ?? {}
    const key = `${data?.taskId} ${type}`
    told.set(key, Math.max(told.get(key) ?? Number.NEGATIVE_INFINITY, toldAt(visit)))
  }
  return wanted.filter(({ taskId, end }) => !((told.get(`${taskId} task.${end}`) ?? Number.NaN) >= since(taskId)))
}
