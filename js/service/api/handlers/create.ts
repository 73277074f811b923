/**
 * POST /retry-tasks. Dedupe and insert are one step of the store, and no table of answers is kept: the answer to a repeat is made of its task.
 * So fifty equal requests at once are one task, and a repeat after a crash between store and answer finds it.
 */

import type { Enqueued, NewTask } from '../../../api/store.ts'
import type { Exchange, Reply } from '../exchange.ts'
import { checkTaskIn, fingerprintOf, keyOf, newTaskOf } from '../new-task.ts'
import { Problem } from '../problem.ts'
import type { TaskIn } from '../schemas/task-in.ts'

/** A task may be deleted between two questions, but not again and again. */
const TRIES = 3

export async function createTask(exchange: Exchange<unknown, TaskIn>): Promise<Reply> {
  const { body, headers, context } = exchange
  const key = keyOf(body, headers)
  const checked = checkTaskIn(body, exchange)
  let task: NewTask
  try {
    task = await newTaskOf(exchange, checked, key)
  } catch (error) {
    // a request that was taken once is its task, whatever policies, targets and the clock would say today
    const earlier = error instanceof Problem ? await repeatOf(exchange, key) : undefined
    if (!earlier) throw error
    return earlier
  }
  for (let tries = 1; ; tries++) {
    const outcome = await enqueue(task, exchange)
    if (outcome.outcome === 'stored') return stored(task, exchange)
    if (outcome.outcome === 'full') {
      const { pending, inFlight, exhausted } = await context.store.counts()
      const held = `the store holds ${pending + inFlight + exhausted} tasks, dead letters included`
      throw new Problem('queue-full', `${held}, and takes no more (--capacity, --capacity-bytes); nothing was stored`)
    }
    if (outcome.outcome !== 'duplicate') throw conflict(task, outcome)
    const reply = await receiptOf(outcome.taskId, exchange)
    if (reply) return reply
    if (tries === TRIES) throw new Problem('store-unavailable', 'the task of this key is being deleted; ask again')
  }
}

/** Throws 'invalid' where the store says that it could not read the task back. */
async function enqueue(task: NewTask, { context }: Exchange): Promise<Enqueued> {
  try {
    const [outcome] = await context.store.enqueue([task])
    return outcome as Enqueued
  } catch (error) {
    if (error instanceof TypeError || error instanceof RangeError) throw new Problem('invalid', error.message)
    throw error
  }
}

function conflict({ idempotencyKey }: NewTask, { taskId, outcome }: Enqueued): Problem {
  const whose = `${idempotencyKey} is the key of task ${taskId}`
  const why =
    outcome === 'unreadable'
      ? 'which a later version of redrive has stored, so that it cannot be compared'
      : 'whose request differs; use a new key for a new request'
  return new Problem('idempotency-conflict', `${whose}, ${why}`, { taskId })
}

async function stored({ taskId, idempotencyKey, dueInMs, orderKey }: NewTask, exchange: Exchange): Promise<Reply> {
  const { context } = exchange
  // behind others of its order it has no time
  const record = orderKey === undefined ? undefined : await context.store.get(taskId)
  const nextAttemptAt = record ? record.dueAt : context.clock.now() + dueInMs
  const { durability } = context.store
  const receipt = { taskId, idempotencyKey, status: 'PENDING', nextAttemptAt, durability, deduplicated: false }
  return { status: 201, json: receipt, headers: { location: `/retry-tasks/${taskId}` } }
}

/** The receipt of an earlier task; undefined: it is gone by now. */
async function receiptOf(taskId: string, { context }: Exchange): Promise<Reply | undefined> {
  const record = await context.store.get(taskId)
  if (!record) return undefined
  const { idempotencyKey, status, dueAt } = record
  const { durability } = context.store
  const receipt = { taskId, idempotencyKey, status, nextAttemptAt: dueAt, durability, deduplicated: true }
  return { status: 200, json: receipt, headers: { location: `/retry-tasks/${taskId}` } }
}

async function repeatOf(exchange: Exchange<unknown, TaskIn>, key: string | undefined): Promise<Reply | undefined> {
  if (key === undefined) return undefined
  const { context, caller } = exchange
  const earlier = await context.store.find(key, caller.tenant)
  return earlier?.fingerprint === fingerprintOf(exchange) ? receiptOf(earlier.taskId, exchange) : undefined
}
