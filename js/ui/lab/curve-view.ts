/** The curve: the least, mean and longest wait before each retry, with a clock beside it. */

import { html } from 'lit'
import type { BackoffStep, Core, RetryPolicy } from 'redrive/core'
import {
  DAY_MS,
  DEFAULT_ATTEMPTS,
  duration,
  grouped,
  logAxis,
  plural,
  policyDefaults,
  UNLIMITED,
} from 'redrive/internal'
import type { ChartModel, Line } from '../plot/chart.ts'
import type { Figure, Sight } from './sight.ts'
import type { LabState } from './state.ts'

/** Retries that are drawn and listed. */
const SHOWN = 25
/** Retries that are computed to see which of them still fit the budget. */
const COMPUTED = 1_000

/** A schedule, and how much of it the budget lets happen. */
interface Schedule {
  readonly steps: readonly BackoffStep[]
  readonly retries: number
  readonly budgetMs: number
  /** The first retry that, on average, comes after the budget. undefined: all fit. */
  readonly cutAt: number | undefined
}

/** Throws what the core throws: a TypeError or RangeError that names the field. */
function scheduleOf(core: Core, policy: Partial<RetryPolicy>): Schedule {
  const asked = policy.maxAttempts ?? DEFAULT_ATTEMPTS
  const steps = core.backoffSchedule(shortened(policy, COMPUTED + 1))
  const budgetMs = policy.totalBudgetMs ?? policy.keyTtlMs ?? policyDefaults.keyTtlMs
  const cutAt = steps.find(({ totalMeanMs }) => totalMeanMs > budgetMs)?.attempt
  return { steps, retries: asked - 1, budgetMs, cutAt }
}

/** The policy with so many attempts at most, where its own number is sound: it is the core that refuses any other. */
export function shortened(policy: Partial<RetryPolicy>, most: number): Partial<RetryPolicy> {
  const { maxAttempts } = policy
  const isLonger = Number.isInteger(maxAttempts) && Number(maxAttempts) > most && Number(maxAttempts) <= UNLIMITED
  return isLonger ? { ...policy, maxAttempts: most } : policy
}

/** `failedAt`: when the first attempt failed, epoch ms. */
export function curveView(core: Core, { policy, versus, retryAfter }: LabState, failedAt: number): Sight {
  const schedule = scheduleOf(core, policy)
  const other = versus ? scheduleOf(core, versus) : undefined
  const asked = retryAfter.trim() === '' ? null : core.parseRetryAfter(retryAfter, failedAt)
  const steps = schedule.steps.slice(0, SHOWN)
  const clock = (ms: number): string => clockTime(failedAt + ms, failedAt)
  const rows = steps.map(({ attempt, minMs, meanMs, maxMs, totalMeanMs, totalMaxMs }) => [
    String(attempt),
    duration(minMs),
    duration(meanMs),
    duration(maxMs),
    duration(totalMeanMs),
    clock(totalMeanMs),
    clock(totalMaxMs),
  ])
  return {
    title: 'Waits before each retry',
    summary: summaryOf(schedule, steps, asked, retryAfter),
    picture: html`<redrive-chart .model=${modelOf(steps, other?.steps.slice(0, SHOWN), asked)}></redrive-chart>`,
    columns: ['Retry', 'Least', 'Mean', 'Longest', 'After, mean', 'At, mean', 'At, latest'],
    rows,
    figures: figuresOf(schedule, other, asked),
  }
}

function summaryOf(
  { steps, retries, budgetMs, cutAt }: Schedule,
  shown: readonly BackoffStep[],
  asked: number | null,
  header: string,
): string {
  const [first] = steps
  const last = steps.at(-1)
  if (!first || !last) return 'One attempt, and no retry.'
  const reached = cutAt === undefined ? plural(retries, 'retry', 'retries') : plural(cutAt - 1, 'retry', 'retries')
  const end =
    cutAt === undefined
      ? `end after ${duration(last.totalMeanMs)} on average, ${duration(last.totalMaxMs)} at most`
      : `fit the budget of ${duration(budgetMs)} on average`
  const range = `The first retry comes after ${span(first)}, retry ${shown.at(-1)?.attempt ?? 1} after ${span(shown.at(-1) ?? first)} more.`
  const server =
    header.trim() === ''
      ? ''
      : asked === null
        ? ' The Retry-After cannot be read, so the curve decides.'
        : ` With this Retry-After no retry comes sooner than ${duration(asked)}.`
  return `${reached} ${end}. ${range}${server}`
}

const span = ({ minMs, maxMs }: BackoffStep): string =>
  minMs === maxMs ? duration(minMs) : `${duration(minMs)} to ${duration(maxMs)}`

function figuresOf(schedule: Schedule, other: Schedule | undefined, asked: number | null): Figure[] {
  const total = ({ steps, retries }: Schedule, of: (step: BackoffStep) => number): string => {
    const last = steps.at(-1)
    if (!last) return '0'
    return retries > steps.length ? `over ${duration(of(last))}` : duration(of(last))
  }
  const beside = (of: (step: BackoffStep) => number, alone?: string): Pick<Figure, 'value' | 'help'> => {
    const help = other ? `the other one: ${total(other, of)}` : alone
    return { value: total(schedule, of), ...(help && { help }) }
  }
  const { cutAt, budgetMs, retries } = schedule
  return [
    { name: 'Retries', value: grouped(retries), help: 'after the first attempt' },
    { name: 'To the end, mean', ...beside(({ totalMeanMs }) => totalMeanMs, 'the sum of all waits') },
    { name: 'To the end, at most', ...beside(({ totalMaxMs }) => totalMaxMs) },
    cutAt === undefined
      ? { name: 'Budget', value: duration(budgetMs), help: 'all retries fit, on average' }
      : {
          name: 'Budget',
          value: duration(budgetMs),
          help: `ends the task before retry ${grouped(cutAt)}, on average`,
          tone: 'warn',
        },
    ...(asked === null ? [] : [{ name: 'Retry-After', value: duration(asked), help: 'a retry comes no sooner' }]),
  ]
}

function modelOf(
  steps: readonly BackoffStep[],
  other: readonly BackoffStep[] | undefined,
  asked: number | null,
): ChartModel {
  const both = [...steps, ...(other ?? [])]
  const axis = logAxis(both)
  const most = Math.max(1, ...both.map(({ maxMs }) => maxMs), asked ?? 0)
  const least = Math.min(
    most / 8,
    ...axis.ticks.slice(0, 1),
    ...both.map(({ minMs, meanMs }) => (minMs > 0 ? minMs : meanMs / 16)).filter((ms) => ms > 0),
  )
  // a wait of 0 has no logarithm: it lies at the foot
  const at = (ms: number): number => Math.max(least, ms)
  const count = Math.max(steps.length, other?.length ?? 0)
  const column = (list: readonly BackoffStep[], of: (step: BackoffStep) => number): (number | null)[] =>
    Array.from({ length: count }, (_, i) => (list[i] ? at(of(list[i])) : null))
  const lines = (
    list: readonly BackoffStep[],
    name: string,
    colour: Line['colour'],
    dash?: readonly number[],
  ): Line[] => [
    { label: `${name}least`, colour, values: column(list, ({ minMs }) => minMs), width: 1, ...(dash && { dash }) },
    {
      label: `${name}longest`,
      colour,
      values: column(list, ({ maxMs }) => maxMs),
      width: 1,
      band: true,
      ...(dash && { dash }),
    },
    { label: `${name}mean`, colour, values: column(list, ({ meanMs }) => meanMs), points: true, ...(dash && { dash }) },
  ]
  return {
    x: Array.from({ length: count }, (_, i) => i + 1),
    lines: [...lines(steps, '', 'hue-1'), ...(other ? lines(other, 'other, ', 'hue-2', [6, 4]) : [])],
    xLabel: 'retry',
    yLabel: 'wait',
    xText: String,
    yText: (ms) => (ms <= least ? `≤ ${duration(ms)}` : duration(ms)),
    log: { from: least * 0.8, to: most * 1.3, ticks: axis.ticks },
    ...(asked !== null && asked > 0 && { level: { at: asked, label: `Retry-After ${duration(asked)}` } }),
  }
}

/** 14:03:10, with the day where it is another one. */
function clockTime(at: number, from: number): string {
  const date = new Date(at)
  if (Number.isNaN(date.getTime())) return 'never'
  const time = date.toLocaleTimeString('en-GB')
  const isSameDay = date.toDateString() === new Date(from).toDateString()
  return isSameDay
    ? time
    : `${date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short', ...(at - from > 300 * DAY_MS && { year: 'numeric' }) })}, ${time}`
}
