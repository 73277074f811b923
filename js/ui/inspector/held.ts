/** The gate that holds a task or an origin, in words, and when it opens. Which gate it is the queue says, as in `explain`; no rule stands here. */

import type { Gate } from 'redrive'
import { duration } from 'redrive/internal'
import type { InspectorOrigin, InspectorTask } from './source.ts'

/** Whole seconds, so that a countdown is calm. */
export const seconds = (ms: number): string => (ms <= 0 ? '0s' : duration(Math.ceil(ms / 1_000) * 1_000))

/** By gate: what holds, what comes next where the time of it is known, and where it is not. */
const GATES: Readonly<Record<Gate, readonly [holds: string, next?: string, otherwise?: string]>> = {
  'in-flight': ['attempt under way'],
  started: ['attempt under way'],
  parked: ['parked', '', 'until its credentials are there and it is resumed'],
  needs: ['held', '', 'until a queue has the options that it needs'],
  behind: ['held by its order', '', 'behind others'],
  principal: ['held', '', 'until its principal is current'],
  due: ['held by its own delay', 'next attempt'],
  'lane-held': ['held by Retry-After', 'ends'],
  'lane-paused': ['paused', '', 'until its origin is resumed'],
  paused: ['paused', '', 'until resumed'],
  offline: ['held: offline', 'next probe', 'until the network is back'],
  probing: ['held by the first attempt since the network is back'],
  'circuit-open': ['held by the open circuit', 'next probe'],
  'circuit-probing': ['held by the half-open circuit', 'next probe', 'until its probe ends'],
  'retry-budget': ['held by the spent retry budget', 'next retry'],
  ramp: ['held by the ramp after failures', 'next attempt', 'until one ends'],
  rate: ['held by the rate limit', 'next attempt'],
  'lane-limit': ['held by the concurrency limit of its origin', '', 'until an attempt ends'],
  limit: ['held by the concurrency limit', '', 'until an attempt ends'],
  ready: ['due'],
}

interface Held {
  readonly gate?: Gate | null
  readonly gateUntilAt?: number | null
}

/** "held by the open circuit, next probe in 4s". */
function wordsOf({ gate, gateUntilAt }: Held, now: number): string {
  const name = gate ?? 'ready'
  // a source may know gates that this file does not
  const [holds, next, otherwise] = Object.hasOwn(GATES, name) ? GATES[name] : [name]
  const isTimed = next && gateUntilAt && gateUntilAt > now
  const then = isTimed ? `${next} in ${seconds(gateUntilAt - now)}` : otherwise
  return then ? `${holds}, ${then}` : holds
}

/** Whether a gate opens later than `at`. One without a known time does. */
const outlasts = ({ gate, gateUntilAt }: Held, at: number): boolean =>
  !!gate && gate !== 'ready' && (gateUntilAt ?? Number.POSITIVE_INFINITY) > at

/** When the next attempt of a task may come, or what holds it. `lane`: its origin. */
export function nextOf(task: InspectorTask, lane: Held | undefined, now: number): string {
  const { nextAttemptAt, parked, status } = task
  if (status !== 'PENDING') return ''
  if (parked) return wordsOf({ gate: 'parked' }, now)
  if (task.gate && task.gate !== 'due') return wordsOf(task, now)
  if (nextAttemptAt === null) return wordsOf({ gate: 'behind' }, now)
  if (lane && outlasts(lane, Math.max(now, nextAttemptAt))) return wordsOf(lane, now)
  return nextAttemptAt <= now ? 'due' : `in ${seconds(nextAttemptAt - now)}`
}

/** The next event of an origin. */
export function eventOf(lane: InspectorOrigin, now: number): string {
  const { pending, inFlight, nextAttemptAt, paused } = lane
  if (paused) return wordsOf({ gate: 'lane-paused' }, now)
  if (outlasts(lane, Math.max(now, nextAttemptAt ?? 0))) return wordsOf(lane, now)
  if (pending === 0) return inFlight > 0 ? wordsOf({ gate: 'in-flight' }, now) : 'nothing waits'
  if (nextAttemptAt === undefined || nextAttemptAt === null) return ''
  return nextAttemptAt <= now ? 'next attempt is due' : `next attempt in ${seconds(nextAttemptAt - now)}`
}

/** The origin that a task goes to, as far as it is shown. */
export const laneOf = (
  { targetUrl, principal }: InspectorTask,
  origins: readonly InspectorOrigin[] = [],
): InspectorOrigin | undefined =>
  origins.find(
    ({ origin, tenant }) => targetUrl.startsWith(`${origin}/`) && (tenant === undefined || tenant === principal),
  )
