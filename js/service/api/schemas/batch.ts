/** Many tasks in one request, and what became of each. */

import { z } from '@hono/zod-openapi'
import type { ReadJson } from '../json.ts'
import type { Problem } from '../problem.ts'
import { problemOut } from './service.ts'
import { receipt, TASK_EXAMPLES } from './task-in.ts'

/** Tasks of one batch. */
export const MOST_TASKS = 500
/** Bytes of one. */
export const BATCH_BYTES: number = 8 * 2 ** 20

export interface BatchIn {
  /** Each is checked by itself, so that one which is wrong fails alone. */
  readonly tasks: readonly (ReadJson | Problem)[]
}

export const batchIn: z.ZodType<BatchIn> = z
  .strictObject({
    tasks: z
      .array(z.unknown().meta({ anyOf: [{ $ref: '#/components/schemas/TaskIn' }, {}] }))
      .min(1)
      .max(MOST_TASKS)
      .meta({ description: 'Each as `POST /retry-tasks` takes it. What is no such thing fails alone' }),
  })
  .meta({
    id: 'BatchIn',
    description: 'Requests to be made, each until it succeeds',
    example: { tasks: [TASK_EXAMPLES.text, TASK_EXAMPLES.read] },
  }) as z.ZodType as z.ZodType<BatchIn>

const RECEIPT = receipt.meta()?.example

export const batchOut: z.ZodType = z
  .strictObject({
    outcomes: z.array(
      z.strictObject({
        status: z.int().meta({ description: 'The status that `POST /retry-tasks` would have answered with' }),
        receipt: receipt.optional(),
        problem: problemOut.optional(),
        taskId: z.string().optional().meta({ description: 'In the place of a receipt that was cut' }),
        type: z.string().optional().meta({ description: 'In the place of a problem that was cut' }),
      }),
    ),
    cut: z.int().optional().meta({
      description:
        'Outcomes without their receipt or problem, since the answer is no longer than 64 KiB. `GET /retry-tasks/{taskId}` shows the task; the same request alone is refused with the whole problem',
    }),
  })
  .meta({
    id: 'Batch',
    description: 'In the order of the tasks, each with a receipt or a problem, in 64 KiB at most',
    example: {
      outcomes: [
        { status: 201, receipt: RECEIPT },
        {
          status: 422,
          problem: {
            type: 'urn:redrive:problem:policy-unknown',
            title: 'There is no such policy',
            status: 422,
            detail: "there is no policy 'invoices': register it with POST /retry-policies, or name another",
            instance: 'req-8f2c0d19a4b7e653',
          },
        },
      ],
    },
  })
