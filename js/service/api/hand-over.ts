/**
 * Takes tasks in, one or many, by one call of the store. Dedupe and insert are one step there, and no table of answers is kept: the answer to
 * a repeat is made of its task. So fifty equal requests at once are one task, and a repeat after a crash between store and answer
 * finds it.
 */

import type { ResolvedPolicy } from 'redrive/internal'
import { type Enqueued, type NewTask, schemaOf } from 'redrive/store'
import { BodyStoreError } from '../bodies/body-store.ts'
import type { Exchange } from './exchange.ts'
import { afterOthers, inSlices, SLICE_BYTES } from './in-slices.ts'
import { bodiesAway, checkTaskIn, fingerprintOf, newTaskOf, withTimeFor } from './new-task.ts'
import { Problem, problemOf } from './problem.ts'
import type { TaskIn } from './schemas/task-in.ts'

/** A task may be deleted between two questions, but not again and again. */
const TRIES = 3

/** A Task in, as the request that brings it alone would be, and its key. */
export interface Draft {
  readonly exchange: Exchange<unknown, TaskIn>
  /** undefined: it has none of its own. */
  readonly key: string | undefined
}

/** The answer about a task that is in the store, now or since before. */
export interface Receipt {
  readonly taskId: string
  readonly idempotencyKey: string | null
  readonly status: string
  readonly nextAttemptAt: number | null
  readonly durability: string
  readonly deduplicated: boolean
}

/** A draft that can be stored. `at`: its place in the list. */
interface Waiting {
  readonly at: number
  readonly task: NewTask
  readonly exchange: Draft['exchange']
}

/** For each draft its receipt, or why there is none. Rejects with what is no matter of one task: a store that does not answer. */
export async function handOver(drafts: readonly Draft[]): Promise<readonly (Receipt | Problem)[]> {
  const outcomes = new Map<number, Receipt | Problem>()
  const prepareds: Waiting[] = []
  const prepare = async (draft: Draft, at: number): Promise<void> => {
    const made = await orProblem(prepared(draft))
    if ('targetUrl' in made) prepareds.push({ at, task: made, exchange: draft.exchange })
    else outcomes.set(at, made)
  }
  await inSlices(drafts, prepare, ({ exchange }) => exchange.text.length)
  const ready: Waiting[] = []
  const withBodies = await byGroups(prepareds, (each) => orProblem(withBodyApart(each)))
  for (const [i, made] of withBodies.entries()) {
    if (made instanceof Problem) outcomes.set((prepareds[i] as Waiting).at, made)
    else ready.push(made)
  }
  let waiting: readonly Waiting[] = ready
  for (let tries = 1; waiting.length > 0; tries++) {
    const said = await stored(waiting)
    const answers = await byGroups(waiting, (each, i) => answerOf(each, said[i] as Enqueued | Problem))
    for (const [i, answer] of answers.entries()) if (answer) outcomes.set((waiting[i] as Waiting).at, answer)
    const gone = waiting.filter((_, i) => !answers[i])
    waiting = tries < TRIES ? gone : []
    if (tries === TRIES) for (const { at } of gone) outcomes.set(at, beingDeleted())
  }
  await dropUnused(ready, outcomes)
  return drafts.map((_, at) => outcomes.get(at) as Receipt | Problem)
}

async function orProblem<T>(work: Promise<T>): Promise<T | Problem> {
  try {
    return await work
  } catch (error) {
    if (error instanceof Problem) return error
    throw error
  }
}

/** The record of a draft, or the receipt of the task that it is a repeat of. Throws a Problem. */
async function prepared({ exchange, key }: Draft): Promise<NewTask | Receipt> {
  const checked = checkTaskIn(exchange.body, exchange)
  if (exchange.text.length > SLICE_BYTES) await afterOthers()
  try {
    const task = await newTaskOf(exchange, checked, key)
    // of a repeat a large body would be kept twice, for a moment
    const earlier = isLarge(task, exchange) ? await repeatOf(exchange, key) : undefined
    return earlier ?? task
  } catch (error) {
    // a request that was taken once is its task, whatever policies, targets and the clock would say today
    const earlier = error instanceof Problem ? await repeatOf(exchange, key) : undefined
    if (!earlier) throw error
    return earlier
  }
}

/** Whether the body of a task is too large to lie with it. A store of bodies deletes them by their age, whatever their tasks still wait for. */
function isLarge({ body, dueInMs, deadlineInMs }: NewTask, { context: { bodies } }: Draft['exchange']): boolean {
  if (!bodies || !body || body.byteLength <= bodies.limits.inlineBytes) return false
  return (Number.isFinite(deadlineInMs) ? deadlineInMs : dueInMs) <= bodies.limits.uploadTtlMs
}

/** Tasks that are read, or whose bodies are on their way to their store, at once. */
const AT_ONCE = 16

/** Does the work for each, some at once. Other requests have their turn between. */
async function byGroups<T, R>(all: readonly T[], work: (each: T, at: number) => Promise<R>): Promise<readonly R[]> {
  const done: R[] = []
  for (let from = 0; from < all.length; from += AT_ONCE) {
    if (from > 0) await afterOthers()
    const group = all.slice(from, from + AT_ONCE)
    done.push(...(await Promise.all(group.map((each, i) => work(each, from + i)))))
  }
  return done
}

/** Gives a task with a large body in the store of bodies. Throws a Problem where its body is not taken. */
async function withBodyApart(waiting: Waiting): Promise<Waiting> {
  const { task, exchange } = waiting
  const { bodies } = exchange.context
  const { body, ...rest } = task
  if (!bodies || !body || !isLarge(task, exchange)) return waiting
  const kept = await bodies.keep(exchange.newId(), task.principal, body).catch(bodiesAway)
  // at its end the body goes, too
  const own = { senderData: { ...task.senderData, body: kept }, tells: true as const }
  const policy = withTimeFor(kept.bytes, rest.policy as ResolvedPolicy)
  return { ...waiting, task: { ...rest, policy, ...own, schema: schemaOf(own) } }
}

/** Deletes the bodies of tasks that were not stored after all. One that is left is an orphan, which its age ends. */
async function dropUnused(ready: readonly Waiting[], outcomes: ReadonlyMap<number, Receipt | Problem>): Promise<void> {
  const unused = ready.filter(({ at, task }) => {
    const outcome = outcomes.get(at)
    // where the store did not answer, it may have the task all the same
    if (outcome instanceof Problem) return outcome.type !== 'store-unavailable'
    return outcome?.taskId !== task.taskId
  })
  await Promise.all(
    unused.map(({ task, exchange }) =>
      exchange.context.bodies?.dropBody(task).catch((error) => {
        if (!(error instanceof BodyStoreError)) throw error
      }),
    ),
  )
}

async function repeatOf(exchange: Draft['exchange'], key: string | undefined): Promise<Receipt | undefined> {
  if (key === undefined) return undefined
  const { context, caller } = exchange
  const earlier = await context.store.find(key, caller.tenant)
  return earlier?.fingerprint === fingerprintOf(exchange) ? receiptOf(earlier.taskId, exchange) : undefined
}

/** Tasks of a batch that the store takes in one step: about four milliseconds, in which it does nothing else. */
const STORED_AT_ONCE = 32

/** Asks the store about each. Where it fails after some are stored, these keep their receipts and the others have the fault. */
async function stored(waiting: readonly Waiting[]): Promise<readonly (Enqueued | Problem)[]> {
  const each: (Enqueued | Problem)[] = []
  for (let from = 0; from < waiting.length; from += STORED_AT_ONCE) {
    try {
      each.push(...(await storedTogether(waiting.slice(from, from + STORED_AT_ONCE))))
    } catch (error) {
      if (from === 0) throw error
      const problem = problemOf(error)
      const { context, requestId } = (waiting[from] as Waiting).exchange
      context.log({ event: 'error', requestId, problem: problem.type, message: context.sanitizer.message(error) })
      return [...each, ...waiting.slice(from).map(() => problem)]
    }
  }
  return each
}

/** Asks the store about each, in one call. Where it refuses the call for what one of them is, they are asked about one by one. */
async function storedTogether(waiting: readonly Waiting[]): Promise<readonly (Enqueued | Problem)[]> {
  const [first] = waiting as readonly [Waiting, ...Waiting[]]
  try {
    const { events, store } = first.exchange.context
    return await events.enqueue(
      store,
      waiting.map(({ task }) => task),
    )
  } catch (error) {
    if (!(error instanceof TypeError || error instanceof RangeError)) throw error
    if (waiting.length === 1) return [new Problem('invalid', error.message)]
    const each: (Enqueued | Problem)[] = []
    // in their order: an earlier one of two with one key is the task
    for (const one of waiting) each.push(...(await storedTogether([one])))
    return each
  }
}

/** undefined: it is the task that an earlier one was, and that is gone by now. */
async function answerOf({ task, exchange }: Waiting, said: Enqueued | Problem): Promise<Receipt | Problem | undefined> {
  if (said instanceof Problem) return said
  if (said.outcome === 'stored') return firstReceipt(task, exchange)
  if (said.outcome === 'full') return said.of === 'principal' ? hasNoRoom(exchange) : isFull(exchange)
  return said.outcome === 'duplicate' ? receiptOf(said.taskId, exchange) : conflict(said, exchange)
}

async function firstReceipt(
  { taskId, idempotencyKey, dueInMs, orderKey }: NewTask,
  { context, storeNow }: Draft['exchange'],
): Promise<Receipt> {
  // as it was stored: behind others of its order it has no time. One that is due at once may be under way by now
  const record = orderKey === undefined && dueInMs === 0 ? undefined : await context.store.get(taskId)
  const nextAttemptAt = record ? record.dueAt : (await storeNow()) + dueInMs
  const { durability } = context.store
  return { taskId, idempotencyKey, status: 'PENDING', nextAttemptAt, durability, deduplicated: false }
}

/** The receipt of an earlier task; undefined: it is gone by now. */
async function receiptOf(taskId: string, { context }: Draft['exchange']): Promise<Receipt | undefined> {
  const record = await context.store.get(taskId)
  if (!record) return undefined
  const { idempotencyKey, status, dueAt } = record
  const { durability } = context.store
  return { taskId, idempotencyKey, status, nextAttemptAt: dueAt, durability, deduplicated: true }
}

/** How much there is of all tenants is shown to those who see all of them. */
async function isFull({ context, caller }: Draft['exchange']): Promise<Problem> {
  const { pending, inFlight, exhausted } = await context.store.counts()
  const held = caller.seesAll ? `holds ${pending + inFlight + exhausted} tasks, dead letters included, and ` : ''
  return new Problem('queue-full', `the store ${held}takes no more (--capacity, --capacity-bytes); nothing was stored`)
}

async function hasNoRoom({ context, caller }: Draft['exchange']): Promise<Problem> {
  const own = await context.store.countsOf?.(caller.tenant)
  const held = own ? `, and ${own.pending + own.inFlight + own.exhausted} tasks are held, dead letters included` : ''
  return new Problem('quota-exceeded', `this tenant has no more room${held}; nothing was stored`)
}

async function conflict({ taskId, outcome }: Enqueued, { context }: Draft['exchange']): Promise<Problem> {
  const record = await context.store.get(taskId)
  const whose = `the key is that of task ${taskId}${record?.status === 'EXHAUSTED' ? ', a dead letter' : ''}`
  const why =
    outcome === 'unreadable'
      ? 'which a later version of redrive has stored, so that it cannot be compared'
      : 'whose request differs; use a new key for a new request'
  return new Problem('idempotency-conflict', `${whose}, ${why}`, {
    taskId,
    ...(record && { taskStatus: record.status }),
  })
}

const beingDeleted = (): Problem => new Problem('store-unavailable', 'the task of this key is being deleted; ask again')
