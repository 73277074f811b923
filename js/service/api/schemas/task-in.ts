/** A task as it comes in. What depends on the service (targets, policies, secrets) is checked where the task is made. */

import { z } from '@hono/zod-openapi'
import type { RetryPolicy } from 'redrive/core'
import { REF_EXAMPLE, REF_SHAPE } from '../../bodies/body-ref.ts'
import { SOURCE_SHAPE } from '../../bodies/body-sources.ts'
import { NAME_SHAPE } from '../../named.ts'
import { ENDS, type End } from '../ends.ts'
import { policyOverlay } from './policy.ts'
import { count, flag, instant, millis, name, texts } from './words.ts'

export interface TaskIn {
  readonly targetUrl: string
  readonly method?: string | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly body?: string | undefined
  readonly bodyEncoding?: 'utf8' | 'base64' | undefined
  readonly json?: unknown
  readonly bodyRef?: string | undefined
  readonly idempotencyKey?: string | undefined
  readonly policyId?: string | undefined
  readonly policy?: Partial<RetryPolicy> | undefined
  readonly deliverAt?: number | undefined
  readonly delayMs?: number | undefined
  readonly expiresAt?: number | undefined
  readonly priority?: number | undefined
  readonly orderKey?: string | undefined
  readonly idempotent?: boolean | undefined
  readonly credential?: string | undefined
  readonly signing?: string | undefined
  readonly callback?:
    | { readonly url: string; readonly on?: readonly End[] | undefined; readonly signing?: string | undefined }
    | undefined
  readonly tags?: Readonly<Record<string, string>> | undefined
}

/** Tags of one task. */
export const MOST_TAGS = 8
/** Bytes of a tag: its name, `=` and its value. */
export const TAG_BYTES = 64

export const KEY_SHAPE: RegExp = /^[\x21-\x7e]{1,255}$/

const EXAMPLE = {
  targetUrl: 'https://api.example.com/orders',
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: '{"sku":1}',
  idempotencyKey: 'invoice-2041',
  policyId: 'svix',
  policy: { maxAttempts: 6 },
  orderKey: 'customer-7',
  tags: { invoice: '2041' },
}

export const TASK_EXAMPLES: Readonly<Record<string, TaskIn>> = {
  text: EXAMPLE,
  json: { targetUrl: 'https://api.example.com/orders', json: { sku: 1 }, delayMs: 60_000 },
  read: { targetUrl: 'https://api.example.com/warm-up', method: 'GET' },
}

export const taskIn: z.ZodType<TaskIn> = z
  .strictObject({
    targetUrl: z
      .string()
      .min(1)
      .meta({ description: 'Absolute, http or https, without a user', format: 'uri', maxLength: 8_192 }),
    method: z
      .string()
      .regex(/^(?!(?:CONNECT|TRACE|TRACK)$)[!#$%&'*+.^_`|~0-9A-Z-]{1,32}$/, 'expected an HTTP method in upper case')
      .optional()
      .meta({ description: 'In upper case. Default: POST', example: 'POST' }),
    headers: texts('At most 64, and 16 KiB. Only names that may be stored: no credentials', 64).optional(),
    body: z.string().optional().meta({ description: 'The body as text, or in base64' }),
    bodyEncoding: z.enum(['utf8', 'base64']).optional().meta({ description: 'How `body` is written. Default: utf8' }),
    json: z.unknown().optional().meta({
      description:
        'In place of `body`: any JSON, sent as its canonical text (RFC 8785), as application/json unless headers say otherwise',
    }),
    bodyRef: z
      .union(
        [z.string().regex(REF_SHAPE), z.string().regex(SOURCE_SHAPE)],
        'expected a reference as `POST /bodies` gives it, or s3://BUCKET/KEY',
      )
      .optional()
      .meta({
        description:
          'In place of `body`: the reference of one that was uploaded by `POST /bodies`, or an object in a bucket of your own, `s3://BUCKET/KEY`',
        example: REF_EXAMPLE,
      }),
    idempotencyKey: z.string().regex(KEY_SHAPE, 'expected 1 to 255 visible ASCII characters').optional().meta({
      description:
        'One key from the client through to the target. Default: the Idempotency-Key of the request, else a random one',
    }),
    policyId: name('A registered policy, a preset, or `default`').optional(),
    policy: policyOverlay.optional(),
    deliverAt: instant(
      'Not before: epoch ms, at most a day past and 90 days ahead. The budget counts from then',
    ).optional(),
    delayMs: millis('In place of `deliverAt`: from now', 0, 90 * 86_400_000).optional(),
    expiresAt: instant('No attempt starts later: epoch ms').optional(),
    priority: z
      .int()
      .min(-(2 ** 31))
      .max(2 ** 31 - 1)
      .optional()
      .meta({
        description:
          'Higher goes first, across tenants; so above 0 it takes the scope admin where there may be several. Default: 0',
      }),
    orderKey: name('Tasks of one orderKey go one after another; one that was given up makes way').optional(),
    idempotent: flag('It may be repeated without a key').optional(),
    credential: z.string().regex(NAME_SHAPE, 'expected the name of a credential').optional().meta({
      description: 'Name of the credential that each attempt gets, as the settings of the service have it',
      example: 'acme-api',
    }),
    signing: z.string().regex(NAME_SHAPE, 'expected the name of a signing').optional().meta({
      description: 'Name of the keys that sign each attempt, as the settings of the service have them',
      example: 'acme-webhooks',
    }),
    callback: z
      .strictObject({
        url: z
          .string()
          .min(1)
          .meta({ description: 'Absolute, http or https, without a user', format: 'uri', maxLength: 8_192 }),
        on: z.array(z.enum(ENDS)).min(1).max(ENDS.length).optional().meta({
          description: 'The ends that are reported. Default: all three',
        }),
        signing: z.string().regex(NAME_SHAPE, 'expected the name of a signing').optional().meta({
          description: 'Name of the keys that sign the callback',
          example: 'acme-webhooks',
        }),
      })
      .optional()
      .meta({
        id: 'Callback',
        description:
          'Where a POST reports the end of the task: under one key for each end, until a 2xx answers or its policy gives up',
        example: { url: 'https://me.example.com/hooks', on: ['succeeded', 'exhausted'] },
      }),
    tags: texts('At most 8, each of at most 64 bytes as `name=value`; shown, never sent', MOST_TAGS).optional(),
  })
  .meta({ id: 'TaskIn', description: 'A request to be made until it succeeds', example: EXAMPLE })

export interface DueIn {
  readonly delayMs?: number | undefined
}

export const dueIn: z.ZodType<DueIn> = z
  .strictObject({ delayMs: millis('From now. Default: 0', 0, 90 * 86_400_000).optional() })
  .meta({ id: 'DueIn', description: 'When the task is to run', example: { delayMs: 60_000 } })

export const receipt: z.ZodType = z
  .strictObject({
    taskId: z.string(),
    idempotencyKey: z.string().nullable(),
    status: z.string().meta({
      description:
        'PENDING, unless the task is an earlier one. EXHAUSTED: it is a dead letter, and is sent again only once it is put back',
    }),
    nextAttemptAt: count('Epoch ms').nullable(),
    durability: z
      .enum(['memory', 'relaxed', 'strict', 'replicated'])
      .meta({ description: 'The faults that the task survives' }),
    deduplicated: flag('The request was made before, and this is its task'),
  })
  .meta({
    id: 'Receipt',
    example: {
      taskId: '0199a3b4-6c58-7000-8a4f-3f1d2c9b7e60',
      idempotencyKey: 'invoice-2041',
      status: 'PENDING',
      nextAttemptAt: 1_795_420_800_000,
      durability: 'strict',
      deduplicated: false,
    },
  })
