/** The events of a service's queues, as those who listen see them: without an answer's body, a header that was withheld or a URL's secret (S12). */

import type { QueueEvents, RetryQueue, RetryTask } from 'redrive'
import { type NewTask, originIn, type StoredTask } from 'redrive/store'
import type { ApiContext } from '../api/context.ts'
import { tagsIn } from '../api/new-task.ts'
import { showTask } from '../api/show.ts'
import type { FeedEvent, FeedType } from './types.ts'

type Emit = (event: FeedEvent) => void

/** A task of an event. */
function shown({ principal, tags: _, meta: __, ...task }: RetryTask): object {
  const tags = tagsIn(_)
  return { ...task, tenant: principal, ...(tags && { tags }) }
}

const about = (type: FeedType, task: RetryTask, more: object = {}): FeedEvent => ({
  type,
  tenant: task.principal,
  origin: new URL(task.targetUrl).origin,
  taskId: task.taskId,
  data: { task: shown(task), ...more },
})

const EVENTS: { readonly [Type in Exclude<FeedType, 'queued'>]: (told: QueueEvents[Type]) => FeedEvent } = {
  attempt: ({ task, context }) => about('attempt', task, { attemptNumber: context.attemptNumber }),
  retry: ({ task, delayMs, status, error, log }) => about('retry', task, { delayMs, status, error, log }),
  succeeded: ({ task }) => about('succeeded', task),
  exhausted: ({ task, reason, attempts, responseStatus, error }) =>
    about('exhausted', task, { reason, attempts, responseStatus, error: error.message }),
  cancelled: ({ task }) => about('cancelled', task),
  circuit: ({ origin, from, to }) => ({ type: 'circuit', tenant: undefined, origin, data: { origin, from, to } }),
  alert: (data) => ({ type: 'alert', tenant: undefined, origin: undefined, data }),
}

/** Tells what the queues do, until the result is called. A queue that is not listened to makes nothing for listeners. */
export function tellEvents(queues: readonly RetryQueue[], emit: Emit): () => void {
  const ends = queues.flatMap((queue) =>
    (Object.keys(EVENTS) as Exclude<FeedType, 'queued'>[]).map((type) => {
      const made = EVENTS[type] as (told: unknown) => FeedEvent
      return queue.on(type, (told: unknown) => emit(made(told)))
    }),
  )
  return () => {
    for (const end of ends) end()
  }
}

/** The event of a task that was just stored. */
export function queuedEvent(task: NewTask, now: number, context: Pick<ApiContext, 'sanitizer'>): FeedEvent {
  const { dueInMs, deadlineInMs, deadlineReason = 'total_budget', body, log: _, ...rest } = task
  const record: StoredTask = {
    ...rest,
    status: 'PENDING',
    createdAt: now,
    dueAt: now + dueInMs,
    deadlineAt: now + deadlineInMs,
    deadlineReason,
    refunds: 0,
    marks: 0,
    parked: false,
    bodyBytes: body?.length ?? 0,
  }
  return {
    type: 'queued',
    tenant: task.principal,
    origin: originIn(task.lane),
    taskId: task.taskId,
    data: { task: showTask(record, context) },
  }
}
