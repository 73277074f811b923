/** The row of /bodies. */

import { uploadBody } from '../handlers/bodies.ts'
import { type Route, route } from '../route.ts'
import { uploadedOut } from '../schemas/bodies.ts'

export const bodyRoutes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/bodies',
    operationId: 'uploadBody',
    tag: 'Tasks',
    summary: 'Uploads a large body',
    description:
      'Bytes of any type, kept apart from tasks; their `Content-Length` has to be there. Any number of tasks of the same tenant may name them as `bodyRef`, until they expire.',
    scope: 'tasks:write',
    bytes: 'The body, as it is to be sent',
    answers: { 201: { description: 'It is kept', schema: uploadedOut } },
    problems: ['no-body-store'],
    handle: uploadBody,
  }),
]
