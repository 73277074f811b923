/** GET /events: what happens to tasks, as it happens. */

import { FEED_TYPES } from '../../feed/types.ts'
import type { Exchange, Reply } from '../exchange.ts'
import { Problem } from '../problem.ts'
import type { EventsQuery } from '../schemas/events.ts'

export async function events({ query, caller, headers, context, stillMay }: Exchange<EventsQuery>): Promise<Reply> {
  const { types, origin } = query
  const lastEventId = headers.get('last-event-id') ?? undefined
  const body = context.events.listen({
    ...(types && types.length < FEED_TYPES.length && { types: new Set(types) }),
    ...(origin !== undefined && { origin }),
    ...(lastEventId !== undefined && { lastEventId }),
    tenant: caller.tenant,
    sees: (tenant) => caller.seesAll || (tenant !== undefined && tenant === caller.tenant),
    mayGoOn: stillMay,
  })
  if (!body)
    throw new Problem('too-many-listeners', 'this process has as many listeners as it takes; ask another, or later')
  // a proxy that keeps answers back until they are whole would keep this one for ever
  return { status: 200, body, headers: { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' } }
}
