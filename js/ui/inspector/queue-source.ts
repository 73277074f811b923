/**
 * A live queue as an inspector sees it, over its public methods alone. The queue does not say what is paused: known here is what was paused through
 * this source, and `resume` is offered either way.
 */

import type { QueueEvents, QueueStats, RetryQueue, RetryTask } from 'redrive'
import { duration, plural, systemClock } from 'redrive/internal'
import { circuitWord } from './changes.ts'
import {
  type InspectorAct,
  type InspectorCan,
  InspectorError,
  type InspectorEvent,
  type InspectorOverview,
  type InspectorSource,
  type InspectorTask,
} from './source.ts'

export interface QueueSourceOptions {
  /** Tasks of every principal, not of the current one alone. @default false */
  readonly allPrincipals?: boolean
}

/** Waiting tasks that are looked at for the next one of each origin. */
const LOOKED_AT = 200

const CAN: InspectorCan = {
  cancel: true,
  redrive: true,
  purge: true,
  pause: true,
  resume: true,
  flush: true,
  redriveAll: true,
  purgeAll: true,
}

/** Makes a source of a queue; `element.queue = queue` does so by itself. */
export function queueSource(queue: RetryQueue, options: QueueSourceOptions = {}): InspectorSource {
  const scope = { allPrincipals: options.allPrincipals ?? false }
  /** '': everything. */
  const paused = new Set<string>()
  return {
    name: queue.name,
    can: CAN,
    get principal() {
      return scope.allPrincipals ? undefined : queue.principal
    },
    async overview() {
      // a queue that was closed has no answers any more, though its numbers stay
      const page = await queue.list({ ...scope, status: 'PENDING', limit: LOOKED_AT }).catch((error) => {
        // its numbers are there without its store, too
        if (error.code !== 'STORAGE_UNAVAILABLE') throw error
      })
      return overviewOf(queue.stats(scope), paused, page && page.cursor === undefined ? page.tasks : undefined)
    },
    async list(query) {
      const page = await queue.list({ ...scope, ...query })
      return { ...page, tasks: await Promise.all(page.tasks.map((task) => withGate(task, queue, scope))) }
    },
    async task(taskId) {
      const [task, { attempts }, decisions] = await Promise.all([
        queue.get(taskId, scope),
        queue.attempts(taskId, scope),
        queue.explain(taskId, scope),
      ])
      return task && { task, attempts, decisions }
    },
    act: (act) => carryOut(act, queue, scope, paused),
    watch: (changed) => queue.subscribe(changed),
    listen: (listener) => listen(queue, scope, listener),
  }
}

/** A task that waits for no time has a gate of its own: parked, behind others, or another. */
async function withGate(
  task: RetryTask,
  queue: RetryQueue,
  scope: { readonly allPrincipals: boolean },
): Promise<InspectorTask> {
  if (task.status !== 'PENDING' || task.nextAttemptAt !== null) return task
  const { gate, until = null } = (await queue.explain(task.taskId, scope)).at(-1)?.data ?? {}
  return gate ? { ...task, gate, gateUntilAt: until } : task
}

/** `waiting`: all tasks that wait. undefined: there are too many to look at, so it is not known which is next at an origin. */
function overviewOf(
  stats: QueueStats,
  paused: ReadonlySet<string>,
  waiting: readonly RetryTask[] | undefined,
): InspectorOverview {
  const { depth, inFlight, deadLetters, storeFailingSinceAt, unreadable, lacking, moreOrigins } = stats
  const nextAt = (origin: string): { readonly nextAttemptAt?: number } => {
    const times = waiting?.flatMap((task) =>
      task.targetUrl.startsWith(`${origin}/`) ? (task.nextAttemptAt ?? []) : [],
    )
    return times?.length ? { nextAttemptAt: Math.min(...times) } : {}
  }
  const warnings: string[] = []
  if (storeFailingSinceAt !== undefined) {
    const since = duration(Math.max(1, systemClock.now() - storeFailingSinceAt))
    warnings.push(`The store has failed for ${since}: what is stored is kept, and nothing of it is sent.`)
  }
  if (unreadable) warnings.push(`${plural(unreadable, 'stored task')} cannot be read, and were put aside.`)
  if (lacking) warnings.push(`Tasks wait for a queue that has: ${lacking.join(', ')}.`)
  return {
    depth,
    inFlight,
    deadLetters,
    capacity: stats.capacity,
    nextAttemptAt: stats.nextAttemptAt,
    succeeded: stats.succeeded + stats.firstAttemptSucceeded,
    exhausted: stats.exhausted,
    counts: { PENDING: depth - inFlight, IN_FLIGHT: inFlight, EXHAUSTED: deadLetters },
    ...(paused.has('') && { paused: true }),
    warnings,
    origins: Object.entries(stats.origins).map(([origin, { depth, inFlight, retryBudget, ...rest }]) => ({
      origin,
      pending: depth - inFlight,
      inFlight,
      ...rest,
      ...nextAt(origin),
      retryBudget: Number.isFinite(retryBudget) ? retryBudget : null,
      ...(paused.has(origin) && { paused: true }),
    })),
    moreOrigins: !!moreOrigins,
  }
}

async function carryOut(
  act: InspectorAct,
  queue: RetryQueue,
  scope: { readonly allPrincipals: boolean },
  paused: Set<string>,
): Promise<string> {
  const { deadLetters } = queue
  switch (act.type) {
    case 'cancel': {
      const outcome = await queue.cancel(act.taskId, scope)
      if (outcome === 'gone') throw new InspectorError('it has ended already')
      return outcome === 'cancelled' ? 'cancelled' : 'the attempt under way is aborted; if it succeeds, that counts'
    }
    case 'redrive':
      await deadLetters.redrive(act.taskId, { ...scope, ...riskOf(act) }).catch((error: Error) => {
        throw (error as { code?: unknown }).code === 'KEY_EXPIRED'
          ? new InspectorError(error.message, { isKeyExpired: true })
          : error
      })
      return 'redriven'
    case 'purge':
      if ((await deadLetters.purge(act.taskId, scope)) === 0) throw new InspectorError('it is no dead letter any more')
      return 'deleted'
    case 'redriveAll': {
      const { perSecond, signal, onProgress } = act
      const back = await deadLetters.redriveAll({
        ...scope,
        ...riskOf(act),
        ...(perSecond !== undefined && { perSecond }),
        signal,
        onProgress,
      })
      return `${plural(back, 'task')} redriven`
    }
    case 'purgeAll': {
      const now = queue.stats(scope).deadLetters
      if (now !== act.count) throw new InspectorError(`there are ${now} dead letters now; none was deleted`)
      return `${plural(await deadLetters.purgeAll(scope), 'dead letter')} deleted`
    }
    case 'flush':
      return `${plural(await queue.flush(), 'task')} made due`
    case 'pause':
      queue.pause(act.origin === undefined ? undefined : { origin: act.origin })
      paused.add(act.origin ?? '')
      return 'paused'
    case 'resume':
      queue.resume(act.origin === undefined ? undefined : { origin: act.origin })
      if (act.origin === undefined) paused.clear()
      else paused.delete(act.origin)
      return 'resumed'
    case 'due':
      throw new InspectorError('a queue makes no single task due')
  }
}

const riskOf = (act: { readonly acceptDuplicateRisk?: boolean }): { readonly acceptDuplicateRisk?: true } =>
  act.acceptDuplicateRisk ? { acceptDuplicateRisk: true } : {}

type EventParts = Omit<InspectorEvent, 'at' | 'kind'>
type Tellers = { readonly [E in keyof QueueEvents]?: (payload: QueueEvents[E]) => EventParts }

const about = ({ taskId, method, targetUrl }: RetryTask, more = '', tone?: InspectorEvent['tone']): EventParts => ({
  text: `${method} ${targetUrl}${more}`,
  taskId,
  ...(tone && { tone }),
})

const CIRCUIT_TONES = { OPEN: 'bad', HALF_OPEN: 'warn', CLOSED: 'good' } as const

const TELLERS: Tellers = {
  queued: ({ task }) => about(task),
  resumed: ({ task }) => about(task, ': left by an earlier page or process'),
  attempt: ({ task, context }) => about(task, `: attempt ${context.attemptNumber}`),
  retry: ({ task, status, error, delayMs }) =>
    about(task, `: ${status ?? error}; next in ${duration(delayMs)}`, 'warn'),
  succeeded: ({ task, response }) => {
    // the queue clones an answer for its listeners, and this one reads none: a clone that cannot be cancelled is left to the collector
    response?.body?.cancel().catch(() => {})
    return about(task, '', 'good')
  },
  exhausted: ({ task, reason, responseStatus }) =>
    about(task, `: ${reason}${responseStatus === null ? '' : `, last answer ${responseStatus}`}`, 'bad'),
  cancelled: ({ task }) => about(task),
  unauthorized: ({ task }) => about(task, ': its credentials were refused twice; parked until resumed', 'bad'),
  circuit: ({ origin, from, to }) => ({
    text: `${origin}: ${circuitWord(from)} to ${circuitWord(to)}`,
    tone: CIRCUIT_TONES[to],
  }),
  degraded: ({ code, message }) => ({ text: `${code}: ${message}`, tone: 'warn' }),
  alert: ({ kind, message }) => ({ text: `${kind}: ${message}`, tone: 'bad' }),
}

function listen(
  queue: RetryQueue,
  { allPrincipals }: { readonly allPrincipals: boolean },
  listener: (event: InspectorEvent) => void,
): () => void {
  const ends = Object.entries(TELLERS).map(([kind, tell]) =>
    queue.on(kind as keyof QueueEvents, (payload) => {
      const parts = (tell as (payload: unknown) => EventParts)(payload)
      // the queue reports tasks of all, such as an attempt that its former user has left in flight
      const isSeen = allPrincipals || !('task' in payload) || payload.task.principal === queue.principal
      if (isSeen) listener({ at: systemClock.now(), kind, ...parts })
    }),
  )
  return () => {
    for (const end of ends) end()
  }
}
