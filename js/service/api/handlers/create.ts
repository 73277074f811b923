/** POST /retry-tasks and POST /retry-tasks/batch. */

import { checked } from '../checked.ts'
import type { Exchange, Reply } from '../exchange.ts'
import { ok } from '../exchange.ts'
import { type Draft, handOver, type Receipt } from '../hand-over.ts'
import { inSlices } from '../in-slices.ts'
import type { ReadJson } from '../json.ts'
import { headerKeyOf, keyOf } from '../new-task.ts'
import { Problem, problemBody } from '../problem.ts'
import { tooLargeTask } from '../read-request.ts'
import type { BatchIn } from '../schemas/batch.ts'
import { KEY_SHAPE, type TaskIn, taskIn } from '../schemas/task-in.ts'

export async function createTask(exchange: Exchange<unknown, TaskIn>): Promise<Reply> {
  const [outcome] = await handOver([{ exchange, key: keyOf(exchange.body, exchange.headers) }])
  if (!outcome || outcome instanceof Problem) throw outcome
  return { status: statusOf(outcome), json: outcome, headers: { location: `/retry-tasks/${outcome.taskId}` } }
}

const statusOf = ({ deduplicated }: Receipt): number => (deduplicated ? 200 : 201)

/** Every task is taken or refused by itself; only what is no matter of one task fails the request. */
export async function createTasks(exchange: Exchange<unknown, BatchIn>): Promise<Reply> {
  const { tasks } = exchange.body
  exchange.charge(tasks.length - 1)
  const key = headerKeyOf(exchange.headers)
  const drafts = await inSlices(
    tasks,
    (task, n) => draftOf(task, exchange, key === undefined ? undefined : `${key}.${n}`),
    (task) => (task instanceof Problem ? 0 : task.canonical.length),
  )
  const made = (await handOver(drafts.filter((each): each is Draft => !(each instanceof Problem)))).values()
  const outcomes = drafts.map((draft): Outcome => {
    const outcome = draft instanceof Problem ? draft : (made.next().value as Receipt | Problem)
    if (!(outcome instanceof Problem)) return { status: statusOf(outcome), receipt: outcome }
    return { status: outcome.status, problem: problemBody(outcome, exchange.requestId) }
  })
  return ok(bounded(outcomes))
}

interface Outcome {
  readonly status: number
  readonly receipt?: Receipt
  readonly problem?: Record<string, unknown>
}

/** Bytes of the answer to a batch, without what holds its outcomes together. */
const MOST_BYTES = 65_000

/** The answer. Beyond its room outcomes have their status, and say which task or which problem it is, and no more. */
function bounded(outcomes: readonly Outcome[]): object {
  const whole = outcomes.map(sizeOf)
  const brief = outcomes.map((outcome) => sizeOf(briefOf(outcome)))
  let left = MOST_BYTES - brief.reduce((sum, bytes) => sum + bytes, 0)
  let cut = 0
  const shown = outcomes.map((outcome, i) => {
    left -= (whole[i] as number) - (brief[i] as number)
    if (left >= 0) return outcome
    cut++
    return briefOf(outcome)
  })
  return { outcomes: shown, ...(cut > 0 && { cut }) }
}

const sizeOf = (outcome: object): number => Buffer.byteLength(JSON.stringify(outcome)) + 1

const briefOf = ({ status, receipt, problem }: Outcome): object =>
  receipt ? { status, taskId: receipt.taskId } : { status, type: problem?.type }

/** `spare`: its key where it has none of its own. */
function draftOf(task: ReadJson | Problem, exchange: Exchange, spare: string | undefined): Draft | Problem {
  if (task instanceof Problem) return task
  const { maxBodyBytes } = exchange.settings.limits
  const { value, canonical: text } = task
  try {
    // printed anew, numbers may have more digits
    const size = Buffer.byteLength(text)
    if (size > maxBodyBytes) throw tooLargeTask(size, maxBodyBytes)
    const body = checked(taskIn, value)
    const key = body.idempotencyKey ?? spare
    if (key !== undefined && !KEY_SHAPE.test(key)) {
      throw new Problem(
        'bad-request',
        `Idempotency-Key: with the number of a task behind it, it is longer than 255 characters`,
      )
    }
    return { exchange: { ...exchange, body, text }, key }
  } catch (error) {
    if (error instanceof Problem) return error
    throw error
  }
}
