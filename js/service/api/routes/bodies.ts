/** The row of /bodies. */

import { uploadBody } from '../handlers/bodies.ts'
import { type HeaderIn, type Route, route } from '../route.ts'
import { uploadedOut } from '../schemas/bodies.ts'

const LENGTH: HeaderIn = {
  name: 'Content-Length',
  description: 'Has to be there: a body whose length is not known is refused',
  example: '1048576',
}

export const bodyRoutes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/bodies',
    operationId: 'uploadBody',
    tag: 'Tasks',
    summary: 'Uploads a large body',
    description:
      'Bytes of any type, kept apart from tasks. Any number of tasks of the same tenant may name them as `bodyRef`, until they expire.',
    scope: 'tasks:write',
    headersIn: [LENGTH],
    bytes: 'The body, as it is to be sent',
    answers: { 201: { description: 'It is kept', schema: uploadedOut } },
    problems: ['no-body-store'],
    handle: uploadBody,
  }),
]
