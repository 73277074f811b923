/** Answers of the service as tables. Fields may be missing: the service may be of another version. */

import type { TaskStatus } from 'redrive'
import { duration, instant, kindWord, STATUS_WORDS, systemClock } from 'redrive/internal'
import type { Io } from './io.ts'
import { type Column, facts, type Paint, paintOf, table, widthOf } from './terminal.ts'

/** JSON of the service, of which no field is taken for granted. */
export type Fields = Readonly<Record<string, unknown>>

export const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null ? (value as Fields) : {}

export const listIn = (value: unknown, name: string): readonly Fields[] => {
  const list = fieldsOf(value)[name]
  return Array.isArray(list) ? list.map(fieldsOf) : []
}

const textOf = (value: unknown): string => {
  if (value === undefined || value === null) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** A status of a later version stays as it is. */
const statusOf = (value: unknown): string =>
  Object.hasOwn(STATUS_WORDS, textOf(value)) ? STATUS_WORDS[value as TaskStatus] : textOf(value)

export interface Sheet {
  /** undefined: it is piped on, whole. */
  readonly width: number | undefined
  readonly paint: Paint
  readonly now: number
}

/** How a table is printed here. */
export const sheetOf = (io: Io): Sheet => ({
  width: io.isTTY ? widthOf(io) : undefined,
  paint: paintOf(io),
  now: systemClock.now(),
})

/** An instant, from now: shorter to read than a date. */
function fromNow(at: unknown, now: number): string {
  if (typeof at !== 'number') return ''
  const ms = at - now
  return Math.abs(ms) < 1_000 ? 'now' : ms > 0 ? `in ${duration(ms)}` : `${duration(-ms)} ago`
}

/** Characters of a request that a terminal shows: of a longer one the middle is left out. */
const MOST_REQUEST = 400

/** Method and address, without the query, which may be long. */
function requestOf({ method, targetUrl }: Fields, { width }: Pick<Sheet, 'width'>): string {
  const address = textOf(targetUrl)
    .replace(/^https?:\/\//, '')
    .replace(/\?.*$/s, '?…')
  const text = `${textOf(method)} ${address}`
  if (width === undefined || text.length <= MOST_REQUEST) return text
  return `${text.slice(0, MOST_REQUEST / 2)}…${text.slice(-MOST_REQUEST / 2)}`
}

const TASK_COLUMNS: readonly Column[] = [
  { title: 'task' },
  { title: 'status' },
  { title: 'attempts', align: 'right' },
  { title: 'next' },
  { title: 'request', gives: true },
]

export function taskTable(tasks: readonly Fields[], { now, ...sheet }: Sheet): string {
  const rows = tasks.map((task) => [
    textOf(task.taskId),
    statusOf(task.status),
    textOf(task.attemptNumber),
    task.parked === true ? 'parked' : fromNow(task.nextAttemptAt, now),
    requestOf(task, sheet),
  ])
  return table(TASK_COLUMNS, rows, sheet)
}

export function deadTable(tasks: readonly Fields[], sheet: Sheet): string {
  const columns: readonly Column[] = [
    { title: 'task' },
    { title: 'reason' },
    { title: 'last', align: 'right' },
    { title: 'dead' },
    { title: 'attempts', align: 'right' },
    { title: 'request', gives: true },
  ]
  const rows = tasks.map((task) => [
    textOf(task.taskId),
    textOf(task.reason),
    textOf(task.lastStatus),
    typeof task.endedAt === 'number' ? duration(Math.max(0, sheet.now - task.endedAt)) : '',
    textOf(task.attemptNumber),
    [requestOf(task, sheet), textOf(task.lastError)].filter(Boolean).join('; '),
  ])
  return table(columns, rows, sheet)
}

const INSTANTS = ['createdAt', 'nextAttemptAt', 'deadlineAt', 'startedAt', 'endedAt']

/** Every field that says something, in the order in which the service has them. */
export function factsOf(fields: Fields, { now, ...sheet }: Sheet): string {
  const pairs = Object.entries(fields)
    .filter(([, value]) => value !== null && value !== undefined && !(Array.isArray(value) && value.length === 0))
    .map(([name, value]): readonly [string, string] => {
      const isInstant = INSTANTS.includes(name) && typeof value === 'number'
      if (isInstant) return [name, `${instant(value)} (${fromNow(value, now)})`]
      return [name, name === 'status' ? statusOf(value) : textOf(value)]
    })
  return facts(pairs, sheet)
}

export function attemptTable(attempts: readonly Fields[], sheet: Sheet): string {
  const columns: readonly Column[] = [
    { title: '#', align: 'right' },
    { title: 'started' },
    { title: 'took', align: 'right' },
    { title: 'answer' },
    { title: 'then', gives: true },
  ]
  const rows = attempts.map((attempt) => [
    textOf(attempt.attemptNumber),
    typeof attempt.startedAt === 'number' ? instant(attempt.startedAt) : '',
    typeof attempt.durationMs === 'number' ? duration(attempt.durationMs) : '',
    textOf(attempt.responseStatus ?? attempt.errorMessage),
    withoutAnswer(textOf(attempt.decision), textOf(attempt.responseStatus ?? attempt.errorMessage)),
  ])
  return table(columns, rows, sheet)
}

/** A decision begins with the answer that it is about, which stands beside it already. */
const withoutAnswer = (decision: string, answer: string): string =>
  answer && /^[:;] /.test(decision.slice(answer.length)) && decision.startsWith(answer)
    ? decision.slice(answer.length + 2)
    : decision

export function decisionTable(decisions: readonly Fields[], sheet: Sheet): string {
  const rows = decisions.map((decision) => [
    typeof decision.at === 'number' ? instant(decision.at) : '',
    kindWord(textOf(decision.kind)),
    textOf(decision.text),
  ])
  return table([{ title: 'at' }, { title: 'what' }, { title: 'why', gives: true }], rows, sheet)
}
