/** A task as it goes out, its attempts and the decisions about it. */

import { z } from '@hono/zod-openapi'
import type { ExhaustedReason, TaskStatus } from 'redrive'
import { ENDS } from '../ends.ts'
import { KEY_SHAPE, MOST_TAGS } from './task-in.ts'
import {
  count,
  cursor,
  flag,
  ID_SHAPE,
  limit,
  name,
  origin,
  queryInstant,
  reason,
  status,
  TASK_ID,
  taskId,
} from './words.ts'

const TASK = {
  taskId: TASK_ID,
  tenant: 'acme',
  idempotencyKey: 'invoice-2041',
  targetUrl: 'https://api.example.com/orders',
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  withheldHeaders: [],
  bodyRef: 'inline',
  policyId: 'svix',
  attemptNumber: 2,
  nextAttemptAt: 1_795_420_805_120,
  createdAt: 1_795_420_500_000,
  deadlineAt: 1_795_593_300_000,
  status: 'PENDING',
  lastStatus: 503,
  lastError: null,
  priority: 0,
  orderKey: 'customer-7',
  tags: { invoice: '2041' },
  parked: false,
}

const at = (description: string) => z.number().meta({ description })

const UNTOLD = 'there was none, or this is a list, and the task is no dead letter'

const TASK_FIELDS = {
  taskId,
  tenant: z.string().nullable().meta({ description: 'The tenant whose task it is' }),
  idempotencyKey: z.string().nullable(),
  targetUrl: z.string().meta({ description: 'Absolute; what looks like a secret in it is shown as REDACTED' }),
  method: z.string(),
  headers: z.record(z.string(), z.string()).meta({ description: 'Empty once the task has succeeded or was cancelled' }),
  withheldHeaders: z.array(z.string()),
  bodyRef: z.string().optional().meta({
    description:
      'Where the body is: `inline` with the task, `stored` apart from it, or the reference of an upload. Absent: there is none, or not any more',
  }),
  policyId: z.string(),
  attemptNumber: count('Attempts begun so far'),
  nextAttemptAt: at('Epoch ms; null: in flight, ended, parked or behind others of its order').nullable(),
  createdAt: at('Epoch ms'),
  deadlineAt: at('Epoch ms; null: none').nullable(),
  status,
  reason: reason.optional(),
  lastStatus: z
    .int()
    .nullable()
    .optional()
    .meta({
      description: `Of the last attempt; null: it had no answer. Absent: ${UNTOLD}`,
    }),
  lastError: z
    .string()
    .nullable()
    .optional()
    .meta({
      description: `Why the last attempt had no answer; null: it had one. Absent: ${UNTOLD}`,
    }),
  endedAt: at('Epoch ms. Absent: it has not ended, or this is a list, and it is no dead letter').optional(),
  priority: z.int(),
  orderKey: z.string().optional(),
  tags: z.record(z.string(), z.string()).optional(),
  credential: z.string().optional().meta({ description: 'Name of the credential that its attempts get' }),
  signing: z.string().optional().meta({ description: 'Name of the keys that sign its attempts' }),
  callback: z
    .strictObject({ url: z.string(), on: z.array(z.enum(ENDS)), signing: z.string().optional() })
    .optional()
    .meta({ description: 'Where its end is reported' }),
  parked: flag('It waits for new credentials: `POST /retry-tasks/{taskId}/due` lets it go'),
}

export const taskOut: z.ZodType = z.strictObject(TASK_FIELDS).meta({ id: 'Task', example: TASK })

const { lastStatus: _, lastError: __, ...LISTED } = TASK

const OUTCOMES = ['redriven', 'redriven_before'] as const

export const redrivenOut: z.ZodType = z
  .strictObject({
    ...TASK_FIELDS,
    outcome: z
      .enum(OUTCOMES)
      .meta({ description: '`redriven_before`: an earlier request had put it back, and this one has changed nothing' }),
  })
  .meta({ id: 'Redriven', example: { ...LISTED, attemptNumber: 0, outcome: OUTCOMES[0] } })

export const tasksOut: z.ZodType = z
  .strictObject({
    tasks: z.array(taskOut),
    cursor: z.string().optional().meta({
      description:
        'Where the next page begins. A page looks at 1,000 tasks at most, and ends after a mebibyte, so it may hold fewer than `limit`, or none, and go on. Absent: this is the last page',
    }),
  })
  .meta({ id: 'Tasks', example: { tasks: [LISTED], cursor: TASK_ID } })

export interface TasksQuery {
  readonly status?: TaskStatus | undefined
  readonly origin?: string | undefined
  readonly idempotencyKey?: string | undefined
  readonly tags?: readonly string[] | undefined
  readonly policyId?: string | undefined
  readonly createdAfter?: number | undefined
  readonly createdBefore?: number | undefined
  readonly order?: 'rising' | 'falling' | undefined
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

export interface DeadQuery extends Omit<TasksQuery, 'status'> {
  readonly reason?: ExhaustedReason | undefined
}

/** Instants that an id can tell: 48 bits. */
const MOST_TIME = 2 ** 48 - 1

const PAGE = {
  origin: origin.optional(),
  idempotencyKey: z
    .string()
    .regex(KEY_SHAPE, 'expected 1 to 255 visible ASCII characters')
    .optional()
    .meta({ description: 'With this key; tasks that were cancelled are found by it too' }),
  tags: z
    .array(name('A tag: a name, `=` and its value'))
    .max(MOST_TAGS)
    .optional()
    .meta({ description: 'With all of these, each as `name=value`: once for each' }),
  policyId: name('Of this policy').optional(),
  createdAfter: queryInstant(MOST_TIME, 'Made at this instant or later, epoch ms').optional(),
  createdBefore: queryInstant(MOST_TIME, 'Made before this instant, epoch ms').optional(),
  order: z
    .enum(['rising', 'falling'])
    .optional()
    .meta({ description: 'By the time of their making. Default: falling, the latest first' }),
  limit,
  cursor: z
    .string()
    .regex(ID_SHAPE, 'expected a cursor of the page before')
    .optional()
    .meta({ description: 'From the page before, asked for with the same filter' }),
}

export const tasksQuery: z.ZodType<TasksQuery> = z.strictObject({ status: status.optional(), ...PAGE })

export const deadQuery: z.ZodType<DeadQuery> = z.strictObject({ reason: reason.optional(), ...PAGE })

export interface PageQuery {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

export const pageQuery: z.ZodType<PageQuery> = z.strictObject({ limit, cursor })

const ATTEMPT = {
  taskId: TASK_ID,
  attemptNumber: 1,
  startedAt: 1_795_420_500_012,
  durationMs: 41,
  responseStatus: 503,
  errorMessage: null,
  decision: '503, Retry-After 120 s; next in 121.4 s (the curve alone: 4 s)',
  kind: 'retry',
  data: { delayMs: 121_400, serverDelayMs: 120_000 },
}

/** Later versions of the package may say more, and so may those that wrote the store. */
const data = z.record(z.string(), z.unknown()).optional().meta({ description: 'The decision in numbers and codes' })

const attemptOut: z.ZodType = z
  .object({
    taskId,
    attemptNumber: count('The first is 1'),
    startedAt: at('Epoch ms'),
    durationMs: z.number(),
    responseStatus: z.int().nullable().meta({ description: 'null: no answer came' }),
    errorMessage: z.string().nullable(),
    decision: z.string().meta({ description: 'Why the next step was taken' }),
    kind: z.string().optional(),
    data,
  })
  .meta({ id: 'Attempt', example: ATTEMPT })

export const attemptsOut: z.ZodType = z
  .strictObject({ attempts: z.array(attemptOut), cursor: z.string().optional() })
  .meta({ id: 'Attempts', example: { attempts: [ATTEMPT] } })

const DECISION = {
  at: 1_795_420_500_000,
  kind: 'queued',
  text: "POST https://api.example.com/orders, policy 'svix', with a key",
  data: { policyId: 'svix' },
}

export const decisionsOut: z.ZodType = z
  .strictObject({
    decisions: z.array(z.strictObject({ at: at('Epoch ms'), kind: z.string(), text: z.string(), data })),
  })
  .meta({ id: 'Decisions', example: { decisions: [DECISION] } })

export const cancelOut: z.ZodType = z
  .strictObject({ outcome: z.enum(['cancelled', 'requested']) })
  .meta({ id: 'Cancel', example: { outcome: 'cancelled' } })

/** One line of an export. */
export const exportedOut: z.ZodType = z.strictObject({ task: taskOut, attempts: z.array(attemptOut) }).meta({
  id: 'Exported',
  description: 'One line: a dead letter and its attempts; never a body or a credential',
  example: {
    task: { ...TASK, status: 'EXHAUSTED', reason: 'max_attempts', nextAttemptAt: null, endedAt: 1_795_420_500_053 },
    attempts: [ATTEMPT],
  },
})
