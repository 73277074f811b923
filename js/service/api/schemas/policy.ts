/**
 * A retry policy as it comes in and goes out. The bounds of single fields are here, so that a client can check them; what fields say together is
 * left to the package's own check (`resolvePolicy`), and a test holds the two to the same answers.
 */

import { z } from '@hono/zod-openapi'
import type { RetryPolicy } from 'redrive/core'
import { JITTERS, STRATEGIES, UNLIMITED } from 'redrive/internal'
import { POLICY_ID, POLICY_ID_WORDS } from '../../shapes.ts'
import { count, flag, millis } from './words.ts'

const share = (description: string, to: number) => z.number().min(0).max(to).meta({ description })

const FIELDS = {
  strategy: z.enum(STRATEGIES).optional().meta({ description: 'The curve of waits' }),
  maxAttempts: z.int().min(1).max(UNLIMITED).optional().meta({ description: 'Attempts in total, the first included' }),
  initialDelayMs: millis('The first wait, before jitter').optional(),
  multiplier: z
    .union([z.literal(1), z.number().min(1.01).max(100)])
    .optional()
    .meta({ description: 'exponential, spread: each wait is this many times the one before' }),
  maxDelayMs: millis('The longest wait of the curve. A longer Retry-After still applies in full').optional(),
  totalBudgetMs: millis('The time that a task has, at most keyTtlMs. Default: keyTtlMs').optional(),
  jitterType: z.enum(JITTERS).optional().meta({ description: 'The random part of exponential, linear and fixed' }),
  jitterRatio: share('PROPORTIONAL: the share of the wait that varies', 1).optional(),
  freshJitter: share('spread: the share of the wait that is drawn anew each time', 0.5).optional(),
  stepMs: millis('linear: added for each further retry').optional(),
  baseMs: millis(
    'polynomial: the constant part. It, exponent and jitterMs are given together or not at all',
  ).optional(),
  exponent: z
    .number()
    .min(0)
    .max(8)
    .optional()
    .meta({ description: 'polynomial: the retry number, to this power, in seconds' }),
  jitterMs: millis('polynomial: the most that the random part adds, times the retry number').optional(),
  delaysMs: z
    .array(millis('A wait'))
    .max(1_000)
    .optional()
    .meta({ description: 'table: the waits, the last one repeated; at least one' }),
  retryableStatusCodes: z
    .union([z.literal('broad'), z.array(z.int().min(200).max(599)).max(400)])
    .optional()
    .meta({ description: 'Statuses to retry, or `broad`: 408, 425, 429, 500, 502, 503, 504 and 520 to 524' }),
  expect: z
    .strictObject({
      status: z.array(z.int().min(200).max(399)).max(200).optional(),
      contentType: z.string().max(255).optional(),
    })
    .optional()
    .meta({ description: 'What the answer has to be: another one ends the task as `not_retryable`' }),
  retryNetworkErrors: flag('Retry after a lost connection').optional(),
  retryTimeouts: flag('Retry after an attempt without an answer in time').optional(),
  attemptTimeoutMs: millis('The time limit of one attempt; 0: none').optional(),
  estimatedCallMs: millis('How long one attempt is expected to take').optional(),
  maxRetryAfterMs: millis('The longest wait that a server may ask for').optional(),
  keyTtlMs: millis('How long the server remembers a key, from the first attempt', 1).optional(),
}

const policyId = z
  .string()
  .regex(POLICY_ID)
  .meta({ description: `The name of the policy: ${POLICY_ID_WORDS}`, example: 'invoices' })

const INVOICES = {
  policyId: 'invoices',
  strategy: 'exponential',
  initialDelayMs: 1_000,
  maxAttempts: 8,
  jitterType: 'FULL',
}

/** The fields of a policy, laid over another: none is needed. */
export const policyOverlay: z.ZodType<Partial<RetryPolicy>> = z.strictObject(FIELDS).meta({
  id: 'PolicyOverlay',
  description: 'Fields that replace those of the policy',
  example: { maxAttempts: 6 },
}) as z.ZodType<Partial<RetryPolicy>>

/** A policy to be planned with: a name changes nothing. */
export const policyToPlan: z.ZodType<Partial<RetryPolicy>> = z
  .strictObject({ policyId: policyId.optional(), ...FIELDS })
  .meta({
    id: 'PolicyToPlan',
    description: 'A policy, or a part of one',
    example: { strategy: 'sidekiq', maxAttempts: 26 },
  }) as z.ZodType<Partial<RetryPolicy>>

/** A policy to be registered. */
export const policyIn: z.ZodType<RetryPolicy> = z
  .strictObject({ policyId, ...FIELDS })
  .meta({ id: 'PolicyIn', description: 'A policy by its name', example: INVOICES }) as z.ZodType<RetryPolicy>

/** With a name in the path: one in the body has to be the same. */
export const policyToPut: z.ZodType<Partial<RetryPolicy>> = z
  .strictObject({ policyId: policyId.optional(), ...FIELDS })
  .meta({ id: 'PolicyToPut', description: 'A policy; its name is in the path', example: { ...INVOICES } }) as z.ZodType<
  Partial<RetryPolicy>
>

const step = z
  .strictObject({
    retry: count('The retry, from 1'),
    minMs: z.number(),
    meanMs: z.number(),
    maxMs: z.number(),
    totalMeanMs: z.number(),
    totalMaxMs: z.number(),
  })
  .meta({ id: 'Step', description: 'One retry: its wait, and all waits up to it' })

const STEPS = [
  { retry: 1, minMs: 0, meanMs: 500, maxMs: 1_000, totalMeanMs: 500, totalMaxMs: 1_000 },
  { retry: 2, minMs: 0, meanMs: 1_000, maxMs: 2_000, totalMeanMs: 1_500, totalMaxMs: 3_000 },
]

const schedule: z.ZodType = z
  .array(step)
  .meta({ description: 'The first 1,000 retries, with the waits of the curve alone' })

const ABOUT = {
  source: z.enum(['api', 'operator', 'file', 'preset', 'default']).meta({
    description:
      '`api`: registered by the tenant. `operator`: registered for all tenants. Other words say where it comes from',
  }),
}

export const policyOut: z.ZodType = z
  .strictObject({ policyId, ...FIELDS, ...ABOUT, schedule: schedule.optional() })
  .meta({
    id: 'Policy',
    description: 'A policy, as it was given',
    example: { ...INVOICES, source: 'api', schedule: STEPS },
  })

export const policiesOut: z.ZodType = z
  .strictObject({ policies: z.array(policyOut) })
  .meta({ id: 'Policies', example: { policies: [{ ...INVOICES, source: 'api' }] } })

export const planOut: z.ZodType = z
  .strictObject({
    schedule,
    longestMs: z.number().nullable().meta({
      description:
        'From the first attempt to the last retry at most, by the curve. null: there are more retries than are listed',
    }),
  })
  .meta({ id: 'Plan', example: { schedule: STEPS, longestMs: 3_000 } })
