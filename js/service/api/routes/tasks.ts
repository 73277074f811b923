/** The rows of /retry-tasks. */

import { createTask, createTasks } from '../handlers/create.ts'
import { cancelTask, explainTask, getBody, getTask, listAttempts, listTasks, makeDue } from '../handlers/tasks.ts'
import { type HeaderIn, type Route, route } from '../route.ts'
import { BATCH_BYTES, batchIn, batchOut, MOST_TASKS } from '../schemas/batch.ts'
import { attemptsOut, cancelOut, decisionsOut, pageQuery, taskOut, tasksOut, tasksQuery } from '../schemas/task.ts'
import { dueIn, KEY_SHAPE, receipt, TASK_EXAMPLES, taskIn } from '../schemas/task-in.ts'
import { TASK_ID } from '../schemas/words.ts'

const tag = 'Tasks'

const KEY: HeaderIn = {
  name: 'Idempotency-Key',
  description: 'In place of `idempotencyKey`; quotes around it are left out',
  example: 'invoice-2041',
  pattern: KEY_SHAPE.source,
}
const BATCH_KEY: HeaderIn = {
  name: 'Idempotency-Key',
  description: 'Of the batch: a task without a key of its own has this one, a dot and its place in the list, from 0 on',
  example: 'import-17',
  pattern: KEY_SHAPE.source,
}
const PREFER: HeaderIn = {
  name: 'Prefer',
  description: '`wait=n`: the answer comes when the task has ended, after n seconds at the latest, at most 60',
  example: 'wait=2',
}
const IF_NONE_MATCH: HeaderIn = {
  name: 'If-None-Match',
  description: 'An ETag: 304 where the task is still as it was',
  example: '"mJ8cQ2l0f3b1sKzYw7Hh0g"',
}

const DURABILITY = 'strict'
const RECEIPT = {
  taskId: TASK_ID,
  idempotencyKey: 'invoice-2041',
  status: 'PENDING',
  nextAttemptAt: 1_795_420_800_000,
  durability: DURABILITY,
}
const LOCATION = { location: 'The path of the task' }

/** Problems of a task that comes in, alone or among others. */
const REFUSALS = [
  'policy-unknown',
  'target-refused',
  'credential-refused',
  'key-mismatch',
  'idempotency-conflict',
  'url-secret',
  'header-refused',
  'body-ref-unknown',
  'queue-full',
  'quota-exceeded',
] as const

export const taskRoutes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/retry-tasks',
    operationId: 'createTask',
    tag,
    summary: 'Enqueues a request',
    description:
      'The request is stored, and then made until it succeeds or its policy ends it. With the key of an earlier request that is equal, the answer is that of its task, as long as the task is kept.',
    scope: 'tasks:write',
    headersIn: [KEY],
    body: taskIn,
    examples: TASK_EXAMPLES as Record<string, unknown>,
    answers: {
      201: {
        description: 'The task is stored',
        schema: receipt,
        example: { ...RECEIPT, deduplicated: false },
        headers: LOCATION,
      },
      200: {
        description: 'The request was made before: this is its task',
        schema: receipt,
        example: { ...RECEIPT, deduplicated: true },
        headers: LOCATION,
      },
    },
    problems: REFUSALS,
    handle: createTask,
  }),
  route({
    method: 'POST',
    path: '/retry-tasks/batch',
    operationId: 'createTasks',
    tag,
    summary: 'Enqueues many requests',
    description:
      'Each is taken or refused by itself, with the answer that `POST /retry-tasks` would give; those taken are stored in one step. It counts as many requests as it has tasks.',
    scope: 'tasks:write',
    headersIn: [BATCH_KEY],
    body: batchIn,
    lines: { most: MOST_TASKS, member: 'tasks', bodyOf: (tasks) => ({ tasks }) },
    mostBytes: ({ maxBodyBytes, maxBatchBytes = BATCH_BYTES }) => Math.max(maxBodyBytes, maxBatchBytes),
    depthAround: 2,
    answers: { 200: { description: 'The outcome of each', schema: batchOut } },
    problems: [],
    handle: createTasks,
  }),
  route({
    method: 'GET',
    path: '/retry-tasks',
    operationId: 'listTasks',
    tag,
    summary: 'Lists tasks',
    description:
      'Page by page. A page may hold fewer than `limit`, or none, though there are more: go on while there is a `cursor`.',
    scope: 'tasks:read',
    query: tasksQuery,
    answers: { 200: { description: 'A page', schema: tasksOut } },
    problems: [],
    handle: listTasks,
  }),
  route({
    method: 'GET',
    path: '/retry-tasks/{taskId}',
    operationId: 'getTask',
    tag,
    summary: 'Shows a task',
    description: 'With `Prefer: wait` it waits for the end of the task.',
    scope: 'tasks:read',
    headersIn: [PREFER, IF_NONE_MATCH],
    answers: {
      200: {
        description: 'The task',
        schema: taskOut,
        headers: { etag: 'Changes with the task', 'preference-applied': 'The wait that was taken' },
      },
      304: { description: 'It is as it was', headers: { etag: 'The ETag that was sent' } },
    },
    problems: ['not-found'],
    handle: getTask,
  }),
  route({
    method: 'DELETE',
    path: '/retry-tasks/{taskId}',
    operationId: 'cancelTask',
    tag,
    summary: 'Cancels a task',
    description:
      'A task that waits is cancelled at once. Of one in flight the attempt is aborted; if it succeeds all the same, that counts.',
    scope: 'tasks:write',
    answers: {
      200: { description: 'It is cancelled', schema: cancelOut },
      202: {
        description: 'An attempt is under way: its end was asked for',
        schema: cancelOut,
        example: { outcome: 'requested' },
      },
    },
    problems: ['not-found', 'already-ended'],
    handle: cancelTask,
  }),
  route({
    method: 'POST',
    path: '/retry-tasks/{taskId}/due',
    operationId: 'makeTaskDue',
    tag,
    summary: 'Runs a task now, or later',
    description: 'No earlier than its server asked for. A task that waits for new credentials goes on.',
    scope: 'tasks:write',
    body: dueIn,
    isBodyOptional: true,
    answers: { 200: { description: 'The task', schema: taskOut } },
    problems: ['not-found', 'not-waiting'],
    handle: makeDue,
  }),
  route({
    method: 'GET',
    path: '/retry-tasks/{taskId}/attempts',
    operationId: 'listAttempts',
    tag,
    summary: 'Lists the attempts of a task',
    description: 'Oldest first; the last 100 are kept.',
    scope: 'tasks:read',
    query: pageQuery,
    answers: { 200: { description: 'A page', schema: attemptsOut } },
    problems: ['not-found'],
    handle: listAttempts,
  }),
  route({
    method: 'GET',
    path: '/retry-tasks/{taskId}/explain',
    operationId: 'explainTask',
    tag,
    summary: 'Says why a task is where it is',
    description: 'The decisions about it, in order; the last one says what it waits for.',
    scope: 'tasks:read',
    answers: { 200: { description: 'The decisions', schema: decisionsOut } },
    problems: ['not-found'],
    handle: explainTask,
  }),
  route({
    method: 'GET',
    path: '/retry-tasks/{taskId}/body',
    operationId: 'getTaskBody',
    tag,
    summary: 'Gives the body of a task',
    description:
      'The bytes that are sent, with their own content type. Bodies go with the end of a task, those of dead letters stay.',
    scope: 'admin',
    answers: {
      200: { description: 'The bytes', contentType: '*/*', headers: { 'content-disposition': 'attachment' } },
    },
    problems: ['not-found', 'body-gone', 'no-body-store'],
    handle: getBody,
  }),
]
