/** The words of operators: redrives and purges of many, operations, pauses, numbers. */

import { z } from '@hono/zod-openapi'
import type { ExhaustedReason } from 'redrive'
import { circuit, count, flag, ID_SHAPE, instant, name, origin, queryInstant, reason, taskId } from './words.ts'

/** The dead letters that an operation or an export is about. */
export interface DeadFilter {
  readonly origin?: string | undefined
  readonly policyId?: string | undefined
  readonly reason?: ExhaustedReason | undefined
  readonly endedAfter?: number | undefined
  readonly endedBefore?: number | undefined
  readonly taskIds?: readonly string[] | undefined
}

const MOST_TIME = 2 ** 48 - 1

const FILTER = {
  origin: origin.optional(),
  policyId: name('Of this policy').optional(),
  reason: reason.optional(),
}

const deadFilter: z.ZodType<DeadFilter> = z
  .strictObject({
    ...FILTER,
    endedAfter: instant('Ended at this instant or later, epoch ms').optional(),
    endedBefore: instant('Ended before this instant, epoch ms').optional(),
    taskIds: z.array(taskId).min(1).max(1_000).optional().meta({ description: 'Those and no others' }),
  })
  .meta({
    id: 'DeadFilter',
    description: 'Dead letters that fit all that is given; `{}`: all',
    example: { reason: 'max_attempts' },
  })

export const exportQuery: z.ZodType<DeadFilter> = z.strictObject({
  ...FILTER,
  endedAfter: queryInstant(MOST_TIME, 'Ended at this instant or later, epoch ms').optional(),
  endedBefore: queryInstant(MOST_TIME, 'Ended before this instant, epoch ms').optional(),
  taskIds: z
    .array(z.string().regex(ID_SHAPE))
    .max(100)
    .optional()
    .meta({ description: 'Those and no others: once for each' }),
})

export interface RedriveOneIn {
  readonly acceptDuplicateRisk?: boolean | undefined
}

const acceptDuplicateRisk = flag('Also where the server may have forgotten the key. Default: false').optional()

export const redriveOneIn: z.ZodType<RedriveOneIn> = z
  .strictObject({ acceptDuplicateRisk })
  .meta({ id: 'RedriveOneIn', example: { acceptDuplicateRisk: true } })

export interface RedriveManyIn extends RedriveOneIn {
  readonly filter: DeadFilter
  readonly perSecond?: number | undefined
}

export const redriveManyIn: z.ZodType<RedriveManyIn> = z
  .strictObject({
    filter: deadFilter,
    perSecond: z
      .number()
      .min(0.01)
      .max(1_000)
      .optional()
      .meta({ description: 'At most so many go back a second. Default: all at once' }),
    acceptDuplicateRisk,
  })
  .meta({ id: 'RedriveManyIn', example: { filter: { origin: 'https://api.example.com' }, perSecond: 50 } })

export interface PurgeIn {
  readonly filter: DeadFilter
  readonly confirm: number
}

export const purgeIn: z.ZodType<PurgeIn> = z
  .strictObject({ filter: deadFilter, confirm: count('How many they are, as it was listed') })
  .meta({ id: 'PurgeIn', example: { filter: { reason: 'target_refused' }, confirm: 12 } })

export const operationOut: z.ZodType = z
  .strictObject({
    operationId: z.string(),
    kind: z.enum(['redrive', 'purge']),
    tenant: z.string().nullable().optional().meta({ description: 'Absent: of all tenants' }),
    status: z.enum(['RUNNING', 'STOPPING', 'STOPPED', 'DONE']),
    done: count('Dead letters that it has dealt with'),
    skipped: count(
      'Those of them that stay: the server may have forgotten their key, their end is still to be reported, or their tenant has no room for another callback',
    ),
    total: count('How many there were when it was asked for'),
    remaining: count('How many of them are left to deal with'),
    startedAt: z.number(),
    endedAt: z.number().optional(),
  })
  .meta({
    id: 'Operation',
    example: {
      operationId: 'redrive-6b86b273-1',
      kind: 'redrive',
      status: 'RUNNING',
      done: 0,
      skipped: 0,
      total: 1_204,
      remaining: 1_204,
      startedAt: 1_795_420_900_000,
    },
  })

/** Lanes: of an origin, of a tenant, of both or of everything. */
export interface ScopeIn {
  readonly origin?: string | undefined
  readonly tenant?: string | null | undefined
}

const tenant = z
  .union([name('A tenant'), z.null()])
  .optional()
  .meta({
    description: 'Absent: all, or the own one for a token that has a tenant. null: the tasks that are no tenant’s',
  })

export const scopeIn: z.ZodType<ScopeIn> = z.strictObject({ origin: origin.optional(), tenant }).meta({
  id: 'ScopeIn',
  description: 'An origin, a tenant, or both; `{}`: everything',
  example: { origin: 'https://api.example.com' },
})

export interface PauseIn extends ScopeIn {
  readonly reason?: string | undefined
}

export const pauseIn: z.ZodType<PauseIn> = z
  .strictObject({ origin: origin.optional(), tenant, reason: name('For people', 500).optional() })
  .meta({ id: 'PauseIn', example: { origin: 'https://api.example.com', reason: 'maintenance until noon' } })

const PAUSE = {
  pauseId: 'pause-9f86d081884c7d65',
  origin: 'https://api.example.com',
  reason: 'maintenance until noon',
  at: 1_795_420_900_000,
}

export const pauseOut: z.ZodType = z
  .strictObject({
    pauseId: z.string(),
    origin: z.string().optional(),
    tenant: z.string().nullable().optional(),
    reason: z.string().optional(),
    at: z.number().meta({ description: 'Since when, epoch ms' }),
  })
  .meta({ id: 'Pause', example: PAUSE })

export const pausesOut: z.ZodType = z
  .strictObject({ pauses: z.array(pauseOut) })
  .meta({ id: 'Pauses', example: { pauses: [PAUSE] } })

export const flushOut: z.ZodType = z
  .strictObject({ due: count('Tasks that are due earlier than before') })
  .meta({ id: 'Flushed', example: { due: 17 } })

const lane = z.strictObject({
  origin: z.string(),
  tenant: z.string().nullable(),
  pending: count('Tasks that wait, of those that were looked at'),
  inFlight: count('Attempts under way, likewise'),
  heldUntilAt: z.number().nullable().meta({ description: 'The end of the wait that its server asked for, epoch ms' }),
  circuit,
  retryBudget: z
    .number()
    .nullable()
    .meta({ description: 'Retries left in its budget; null: without a limit, or not known here' }),
  gate: z.string().nullable().meta({
    description: 'The first gate that keeps a due retry from starting, as `explain` names it; null: none does',
  }),
  gateUntilAt: z
    .number()
    .nullable()
    .meta({ description: 'When that gate opens if nothing changes, epoch ms; null: no time is known' }),
  paused: flag('A pause keeps it back'),
  nextAttemptAt: z.number().nullable(),
})

export const statsOut: z.ZodType = z
  .strictObject({
    counts: z
      .strictObject({
        pending: count('Waiting'),
        inFlight: count('In flight'),
        exhausted: count('Dead letters'),
        succeeded: count('Succeeded, and still kept').optional(),
        cancelled: count('Cancelled, and still kept').optional(),
        purged: count('Deleted').optional(),
      })
      .meta({ description: 'Of a tenant the first three; else of the whole store' }),
    bytes: count('Bodies of what is counted against the capacity').optional(),
    capacity: count('Tasks that the store takes'),
    durability: z.string(),
    lanes: z.array(lane).meta({ description: 'The 64 that come soonest, of 1,000 tasks that wait or are in flight' }),
    moreLanes: flag('There are more, or more tasks than were looked at'),
  })
  .meta({
    id: 'Stats',
    example: {
      counts: { pending: 812, inFlight: 37, succeeded: 90_211, exhausted: 1_204, cancelled: 3, purged: 411 },
      bytes: 1_811_200,
      capacity: 1_000_000,
      durability: 'strict',
      lanes: [
        {
          origin: 'https://api.example.com',
          tenant: 'acme',
          pending: 800,
          inFlight: 20,
          heldUntilAt: null,
          circuit: 'CLOSED',
          retryBudget: 8.2,
          gate: null,
          gateUntilAt: null,
          paused: false,
          nextAttemptAt: 1_795_420_805_120,
        },
      ],
      moreLanes: false,
    },
  })
