/** The words of GET /events. */

import { z } from '@hono/zod-openapi'
import { FEED_TYPES, type FeedType } from '../../feed/types.ts'
import { origin } from './words.ts'

export interface EventsQuery {
  readonly types?: readonly FeedType[] | undefined
  readonly origin?: string | undefined
}

const LIST = `^(?:${FEED_TYPES.join('|')})(?:,(?:${FEED_TYPES.join('|')}))*$`

export const eventsQuery: z.ZodType<EventsQuery> = z.strictObject({
  types: z
    .preprocess(
      (given) => (typeof given === 'string' ? given.split(',') : given),
      z.array(z.enum(FEED_TYPES)).min(1).max(64),
    )
    .optional()
    .meta({
      type: 'string',
      description: `Only these events, with commas between them: ${FEED_TYPES.join(', ')}`,
      example: 'retry,exhausted',
      pattern: LIST,
    }),
  origin: origin.optional().meta({ description: 'Only events of tasks to this origin' }),
}) as z.ZodType<EventsQuery>

export const eventsOut: z.ZodType = z.string().meta({
  id: 'Events',
  description: 'Server-Sent Events (HTML, 9.2)',
  example: 'id: mPz3XlYw0q_5rKc8bD-1Tg\nevent: retry\ndata: {"at":1795420800000,"task":{},"delayMs":500}\n\n',
})
