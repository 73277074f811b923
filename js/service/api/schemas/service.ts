/** The words of the service about itself, and how it says no. */

import { z } from '@hono/zod-openapi'
import { flag } from './words.ts'

export const healthOut: z.ZodType = z
  .strictObject({ status: z.literal('ok'), version: z.string() })
  .meta({ id: 'Health', example: { status: 'ok', version: '0.4.0' } })

export const readyOut: z.ZodType = z
  .strictObject({
    checks: z.strictObject({
      store: flag('The store answers'),
      runner: flag('The first turn is done'),
      draining: flag('The service is stopping'),
    }),
    reason: z.string().optional().describe('Why the store is not safe to keep tasks in'),
  })
  .meta({ id: 'Ready', example: { checks: { store: true, runner: true, draining: false } } })

export const rootOut: z.ZodType = z
  .strictObject({ name: z.string(), version: z.string(), links: z.record(z.string(), z.string()) })
  .meta({ id: 'Root', example: { name: 'redrive', version: '0.4.0', links: { openapi: '/openapi.json' } } })

export const documentOut: z.ZodType = z.record(z.string(), z.unknown()).meta({
  id: 'Document',
  description: 'OpenAPI 3.1',
  example: { openapi: '3.1.0', info: { title: 'redrive', version: '0.4.0' } },
})

export const problemOut: z.ZodType = z
  .strictObject({
    type: z.string().meta({ description: 'A URN that never changes', format: 'uri' }),
    title: z.string().meta({ description: 'The same for all of a type' }),
    status: z.int(),
    detail: z.string().meta({ description: 'What happened, and what to do' }),
    instance: z.string().meta({ description: 'The id of the request, as `redrive-request-id` has it' }),
    errors: z
      .array(z.strictObject({ pointer: z.string(), detail: z.string() }))
      .optional()
      .meta({
        description: 'The first 20 faults of the body, each with a JSON pointer to it. One that ends with `…` was cut',
      }),
    taskId: z.string().optional().meta({ description: 'The task that it is about' }),
    taskStatus: z.string().optional(),
    operationId: z.string().optional(),
    rule: z.string().optional().meta({ description: 'The rule that refuses a target' }),
    count: z.int().optional().meta({ description: 'How many there are now' }),
  })
  .meta({ id: 'Problem', description: 'RFC 9457' })
