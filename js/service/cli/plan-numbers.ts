/** Numbers of a curve: its schedule, a crowd of tasks that fail at the same moment, and the trouble that such a crowd makes. The core computes every wait. */

import type { BackoffStep, Core } from 'redrive/core'
import { type BackgroundPolicy, duration } from 'redrive/internal'

/** Retries of a crowd that are looked at: by then a curve shows what it does, and on a linear axis the first are still to be seen. */
export const CROWD_RETRIES = 10
const BINS = 200

export interface Dot {
  readonly task: number
  /** From 1. */
  readonly retry: number
  /** After the failure of all. */
  readonly atMs: number
}

export interface Plan {
  readonly policy: BackgroundPolicy
  readonly schedule: readonly BackoffStep[]
  readonly tasks: number
  readonly dots: readonly Dot[]
  /** Share of the time until half of the tasks have made the last of these retries in which none is made, in 200 parts. */
  readonly idleShare: number
  readonly longestGapMs: number
  readonly pileUp: PileUp | undefined
  /** The first retry that the budget may leave out. */
  readonly cutAt: number | undefined
}

/** The retry at which most tasks come at once. */
interface PileUp {
  readonly retry: number
  readonly tasks: number
  /** From the first of them to the last: a tenth of the mean wait at most. */
  readonly withinMs: number
}

export function planOf(core: Core, policy: BackgroundPolicy, retries: number, tasks: number): Plan {
  const schedule = core.backoffSchedule({ ...policy, maxAttempts: retries + 1 })
  const dots = crowdOf(core, policy, Math.min(retries, CROWD_RETRIES), tasks)
  const budgetMs = policy.totalBudgetMs ?? policy.keyTtlMs
  return {
    policy,
    schedule,
    tasks,
    dots,
    ...gapsOf(dots, Math.min(retries, CROWD_RETRIES)),
    pileUp: pileUpOf(dots, schedule),
    cutAt: schedule.find(({ totalMaxMs }) => totalMaxMs > budgetMs)?.attempt,
  }
}

/** A crowd that is always the same for a policy: plots that change from run to run cannot be compared. */
function crowdOf(core: Core, policy: BackgroundPolicy, retries: number, tasks: number): readonly Dot[] {
  const random = numbersFrom(0x2f6e2b1)
  const dots: Dot[] = []
  for (let task = 0; task < tasks; task += 1) {
    const phase = ((task * 0x9e3779b9) >>> 0) / 2 ** 32
    let atMs = 0
    let previousDelayMs: number | undefined
    for (let retry = 1; retry <= retries; retry += 1) {
      const before = previousDelayMs === undefined ? {} : { previousDelayMs }
      previousDelayMs = core.calculateBackoffDelay(policy, retry, { random: random(), phase, ...before })
      atMs += previousDelayMs
      dots.push({ task, retry, atMs })
    }
  }
  return dots
}

/** mulberry32, by Tommy Ettinger: enough for a plot. */
function numbersFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

function timesOf(dots: readonly Dot[], retry: number): number[] {
  return dots
    .filter((dot) => dot.retry === retry)
    .map(({ atMs }) => atMs)
    .sort((a, b) => a - b)
}

function gapsOf(dots: readonly Dot[], last: number): Pick<Plan, 'idleShare' | 'longestGapMs'> {
  const ends = timesOf(dots, last)
  const endMs = ends[Math.floor((ends.length - 1) / 2)] ?? 0
  if (endMs <= 0) return { idleShare: 0, longestGapMs: 0 }
  const times = dots.map(({ atMs }) => atMs).filter((atMs) => atMs <= endMs)
  const busy = new Set(times.map((atMs) => Math.min(BINS - 1, Math.floor((atMs / endMs) * BINS))))
  let longestGapMs = 0
  let before = 0
  for (const atMs of times.sort((a, b) => a - b)) {
    longestGapMs = Math.max(longestGapMs, atMs - before)
    before = atMs
  }
  return { idleShare: 1 - busy.size / BINS, longestGapMs }
}

function pileUpOf(dots: readonly Dot[], schedule: readonly BackoffStep[]): PileUp | undefined {
  let worst: PileUp | undefined
  for (const { attempt: retry, meanMs } of schedule.slice(0, CROWD_RETRIES)) {
    const times = timesOf(dots, retry)
    let first = 0
    for (const [i, atMs] of times.entries()) {
      while (atMs - (times[first] ?? atMs) > meanMs / 10) first += 1
      const tasks = i - first + 1
      if (tasks > (worst?.tasks ?? 0)) worst = { retry, tasks, withinMs: atMs - (times[first] ?? atMs) }
    }
  }
  return worst
}

/** Above these shares a curve is warned of. Chance alone leaves a quarter of the time idle, and brings a tenth of the tasks together. */
const MOST_IDLE = 0.5
const MOST_AT_ONCE = 0.5
/** Fewer tasks leave time idle by any curve. */
const FEWEST = 50

/** Sentences, the worst first. */
export function warningsOf({ policy, schedule, tasks, idleShare, longestGapMs, pileUp, cutAt }: Plan): string[] {
  const warnings: string[] = []
  const longest = schedule.at(-1)
  if (cutAt !== undefined && longest) {
    const name = policy.totalBudgetMs === undefined ? 'keyTtlMs' : 'totalBudgetMs'
    const budget = duration(policy.totalBudgetMs ?? policy.keyTtlMs)
    warnings.push(
      `Ends too early: the retries may take ${duration(longest.totalMaxMs)}, and ${name} ends a task after ${budget}, from retry ${cutAt} on. For more time set keyTtlMs, which the targets must remember keys for.`,
    )
  }
  if (pileUp && tasks > 1 && pileUp.tasks > tasks * MOST_AT_ONCE) {
    const many = pileUp.tasks === tasks ? `all ${tasks}` : `${pileUp.tasks} of ${tasks}`
    const when = pileUp.withinMs > 0 ? `within ${duration(pileUp.withinMs)}` : 'in the same millisecond'
    warnings.push(
      `Pile-up: tasks that fail together come back together, at retry ${pileUp.retry} ${many} ${when}. More jitter, or the strategy spread, keeps them apart.`,
    )
  }
  if (policy.strategy !== 'spread' && tasks >= FEWEST && idleShare > MOST_IDLE) {
    warnings.push(
      `Idle gaps: ${Math.round(idleShare * 100)} % of the time nothing is sent, for up to ${duration(longestGapMs)} at a stretch, although tasks wait. The strategy spread fills the gaps.`,
    )
  }
  return warnings
}
