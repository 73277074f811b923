/** The rows of /dead-letters and /operations. */

import { exportDead, listDead, purgeMany, purgeOne, redriveMany, redriveOne } from '../handlers/dead-letters.ts'
import { getOperation, stopOperation } from '../handlers/operations.ts'
import { type Route, route } from '../route.ts'
import { exportQuery, operationOut, purgeIn, redriveManyIn, redriveOneIn } from '../schemas/control.ts'
import { deadQuery, exportedOut, redrivenOut, tasksOut } from '../schemas/task.ts'

const tag = 'Dead letters'
const LOCATION = { location: 'The path of the operation' }

/** Literal paths come before those with a name in the same place. */
export const deadLetterRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/dead-letters',
    operationId: 'listDeadLetters',
    tag,
    summary: 'Lists dead letters',
    description: 'Tasks that were given up, page by page, as `GET /retry-tasks` lists tasks.',
    scope: 'tasks:read',
    query: deadQuery,
    answers: { 200: { description: 'A page', schema: tasksOut } },
    problems: [],
    handle: listDead,
  }),
  route({
    method: 'GET',
    path: '/dead-letters/export',
    operationId: 'exportDeadLetters',
    tag,
    summary: 'Exports dead letters',
    description:
      'One JSON text a line: a task and its attempts, without bodies and credentials. What ends while it runs may be missing.',
    scope: 'admin',
    query: exportQuery,
    answers: { 200: { description: 'Lines', schema: exportedOut, contentType: 'application/x-ndjson' } },
    problems: [],
    handle: exportDead,
  }),
  route({
    method: 'POST',
    path: '/dead-letters/redrive',
    operationId: 'redriveDeadLetters',
    tag,
    summary: 'Puts many dead letters back',
    description: 'An operation: it goes on by itself, in whatever process, and one of a tenant at a time.',
    scope: 'admin',
    body: redriveManyIn,
    answers: { 202: { description: 'The operation has begun', schema: operationOut, headers: LOCATION } },
    problems: ['operation-running'],
    handle: redriveMany,
  }),
  route({
    method: 'POST',
    path: '/dead-letters/purge',
    operationId: 'purgeDeadLetters',
    tag,
    summary: 'Deletes many dead letters',
    description: 'An operation, begun only if there are as many as `confirm` says.',
    scope: 'admin',
    body: purgeIn,
    answers: { 202: { description: 'The operation has begun', schema: operationOut, headers: LOCATION } },
    problems: ['operation-running', 'count-changed'],
    handle: purgeMany,
  }),
  route({
    method: 'POST',
    path: '/dead-letters/{taskId}/redrive',
    operationId: 'redriveDeadLetter',
    tag,
    summary: 'Puts a dead letter back',
    description:
      'With its key, its id and its history; attempts are counted anew. Of one that was put back before, the answer says so.',
    scope: 'tasks:write',
    body: redriveOneIn,
    isBodyOptional: true,
    answers: { 200: { description: 'The task', schema: redrivenOut } },
    problems: ['not-found', 'key-expired', 'quota-exceeded', 'queue-full'],
    handle: redriveOne,
  }),
  route({
    method: 'DELETE',
    path: '/dead-letters/{taskId}',
    operationId: 'purgeDeadLetter',
    tag,
    summary: 'Deletes a dead letter',
    description: 'Its key may be used for another request then.',
    scope: 'admin',
    answers: { 204: { description: 'It is gone' } },
    problems: ['not-found'],
    handle: purgeOne,
  }),
  route({
    method: 'GET',
    path: '/operations/{operationId}',
    operationId: 'getOperation',
    tag,
    summary: 'Shows an operation',
    description: 'Kept for a day after its end.',
    scope: 'admin',
    answers: { 200: { description: 'The operation', schema: operationOut } },
    problems: ['not-found'],
    handle: getOperation,
  }),
  route({
    method: 'DELETE',
    path: '/operations/{operationId}',
    operationId: 'stopOperation',
    tag,
    summary: 'Stops an operation',
    description: 'After the part under way. What it has done stays done.',
    scope: 'admin',
    answers: { 200: { description: 'The operation', schema: operationOut } },
    problems: ['not-found'],
    handle: stopOperation,
  }),
]
