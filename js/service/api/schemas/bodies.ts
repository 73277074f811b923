/** A body that was uploaded. */

import { z } from '@hono/zod-openapi'
import { REF_EXAMPLE } from '../../bodies/body-ref.ts'
import { count } from './words.ts'

export const uploadedOut: z.ZodType = z
  .strictObject({
    bodyRef: z.string().meta({ description: 'Names the body in a task of the same tenant' }),
    bytes: count('Its length'),
    sha256: z.string().meta({ description: 'Of its bytes, 64 hex digits' }),
    expiresAt: count('Until then it may be named, epoch ms'),
  })
  .meta({
    id: 'Uploaded',
    example: {
      bodyRef: REF_EXAMPLE,
      bytes: 1_048_576,
      sha256: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
      expiresAt: 1_798_444_800_000,
    },
  })
