/** POST /retry-tasks and POST /retry-tasks/batch. */

import { checked } from '../checked.ts'
import type { Exchange, Reply } from '../exchange.ts'
import { ok } from '../exchange.ts'
import { type Draft, handOver, type Receipt } from '../hand-over.ts'
import { inSlices } from '../in-slices.ts'
import { headerKeyOf, keyOf } from '../new-task.ts'
import { Problem, problemBody } from '../problem.ts'
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
  const given = await inSlices(tasks, (task, n) =>
    draftOf(task, exchange, key === undefined ? undefined : `${key}.${n}`),
  )
  const drafts = given.filter((each): each is Draft => !(each instanceof Problem))
  const made = (await handOver(drafts)).values()
  const outcomes = given.map((each) => (each instanceof Problem ? each : (made.next().value as Receipt | Problem)))
  return ok({ outcomes: outcomes.map((outcome) => shown(outcome, exchange)) })
}

const shown = (outcome: Receipt | Problem, { requestId }: Exchange): object =>
  outcome instanceof Problem
    ? { status: outcome.status, problem: problemBody(outcome, requestId) }
    : { status: statusOf(outcome), receipt: outcome }

/** `spare`: its key where it has none of its own. */
function draftOf(task: unknown, exchange: Exchange, spare: string | undefined): Draft | Problem {
  const { core } = exchange.context
  const { maxBodyBytes } = exchange.settings.limits
  try {
    if (task instanceof Problem) throw task
    const text = core.canonicalJson(JSON.stringify(task))
    const size = Buffer.byteLength(text)
    if (size > maxBodyBytes) {
      throw new Problem('body-too-large', `the task has ${size} bytes, more than ${maxBodyBytes} (--max-body)`)
    }
    const body = checked(taskIn, task)
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
