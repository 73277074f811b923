/** The row of /events. */

import { events } from '../handlers/events.ts'
import { type Route, route } from '../route.ts'
import { eventsOut, eventsQuery } from '../schemas/events.ts'

export const eventRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/events',
    operationId: 'listen',
    tag: 'Events',
    summary: 'Tells what happens, as it happens',
    description:
      'Events of tasks of the tenant, for as long as the connection lasts; a token that sees all hears of circuits and alerts, too. It is a live view and no log: with `Last-Event-ID` a listener goes on after that event, while this process still has it (the last 1,000); else the first event is `missed`. A listener more than 1 MiB behind gets `closed`, and so does one whose process stops. The first comment says whether other processes are heard.',
    scope: 'tasks:read',
    headersIn: [
      {
        name: 'last-event-id',
        description: 'The id of the last event that was heard',
        example: 'mPz3XlYw0q_5rKc8bD-1Tg',
        pattern: '^[\\x21-\\x7e]{1,128}$',
      },
    ],
    query: eventsQuery,
    answers: { 200: { description: 'Events', schema: eventsOut, contentType: 'text/event-stream' } },
    problems: ['too-many-listeners'],
    handle: events,
  }),
]
