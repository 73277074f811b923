/** GET, DELETE and the rest of /retry-tasks: what one may ask about a task, and do to it. */

import { Readable } from 'node:stream'
import type { Decision } from 'redrive'
import { pausedBy } from 'redrive/internal'
import { originIn, type StoredTask } from 'redrive/store'
import { BodyMissingError, BodyStoreError } from '../../bodies/body-store.ts'
import { bodyIn, type TaskBody } from '../../bodies/task-bodies.ts'
import type { ApiContext } from '../context.ts'
import { etagOf, isKnown } from '../etag.ts'
import type { Exchange, Reply } from '../exchange.ts'
import { ok } from '../exchange.ts'
import { listPage } from '../list-page.ts'
import { pageFilter } from '../page-filter.ts'
import { Problem } from '../problem.ts'
import type { PageQuery, TasksQuery } from '../schemas/task.ts'
import type { DueIn } from '../schemas/task-in.ts'
import { isEnded, seenTask, showWhole, type TaskOut } from '../show.ts'
import { ownOf } from '../tokens.ts'
import { untilEnded } from '../wait.ts'

const ALL = { allPrincipals: true } as const

const idOf = ({ params }: Exchange): string => params.taskId ?? ''

export async function listTasks({ query, caller, context }: Exchange<TasksQuery>): Promise<Reply> {
  const { status } = query
  return listPage({ ...ownOf(caller), ...(status && { status }), ...pageFilter(query) }, context)
}

export async function getTask(exchange: Exchange): Promise<Reply> {
  const { caller, context, headers, signal, waits } = exchange
  let record = await seenTask(idOf(exchange), caller, context)
  const seconds = waitOf(headers)
  // a preference: beyond the share of its token the task is shown as it is
  const leave = seconds > 0 ? waits.take(caller.id) : undefined
  if (leave && !isEnded(record)) record = await untilEnded(record, seconds * 1_000, context, signal).finally(leave)
  else leave?.()
  const preference = leave ? { 'preference-applied': `wait=${seconds}` } : undefined
  return tagged(await showWhole(record, context), headers, preference)
}

/** The seconds of `Prefer: wait=n` (RFC 7240), up to 60; 0: it is not asked for. */
function waitOf(headers: Headers): number {
  const [, given] = /(?:^|[,;\s])wait\s*=\s*"?(\d{1,9})"?(?:[,;\s]|$)/i.exec(headers.get('prefer') ?? '') ?? []
  return Math.min(60, Number(given ?? 0))
}

function tagged(task: TaskOut, headers: Headers, more: Record<string, string> = {}): Reply {
  const etag = etagOf(JSON.stringify(task))
  if (isKnown(etag, headers)) return { status: 304, headers: { etag, ...more } }
  return ok(task, { etag, ...more })
}

export async function cancelTask(exchange: Exchange): Promise<Reply> {
  const { caller, context } = exchange
  const taskId = idOf(exchange)
  const before = await seenTask(taskId, caller, context)
  const outcome = await context.queue.cancel(taskId, ALL)
  if (outcome === 'cancelled') return ok({ outcome })
  if (outcome === 'requested') return { status: 202, json: { outcome } }
  const { status } = await seenTask(taskId, caller, context)
  // a store that has lost the answer is asked again, and then there is nothing left to cancel
  if (status === 'CANCELLED' && before.status !== 'CANCELLED') return ok({ outcome: 'cancelled' })
  throw new Problem('already-ended', `task ${taskId} has ended: ${status}`, { taskId, taskStatus: status })
}

export async function makeDue(exchange: Exchange<unknown, DueIn>): Promise<Reply> {
  const { body, caller, context } = exchange
  const taskId = idOf(exchange)
  await seenTask(taskId, caller, context)
  const [outcome] = await context.store.due([taskId], body.delayMs ?? 0)
  const record = await seenTask(taskId, caller, context)
  if (outcome !== 'due') {
    const { status } = record
    const why = status === 'IN_FLIGHT' ? 'an attempt of it is under way' : `it has ended: ${status}`
    throw new Problem('not-waiting', `task ${taskId} does not wait: ${why}`, { taskId, taskStatus: status })
  }
  return ok(await showWhole(record, context))
}

export async function listAttempts(exchange: Exchange<PageQuery>): Promise<Reply> {
  const { query, caller, context } = exchange
  const taskId = idOf(exchange)
  await seenTask(taskId, caller, context)
  const { limit = 100, cursor } = query
  const page = await context.queue.attempts(taskId, { ...ALL, limit, ...(cursor !== undefined && { cursor }) })
  return ok(page)
}

export async function explainTask(exchange: Exchange): Promise<Reply> {
  const { caller, context } = exchange
  const record = await seenTask(idOf(exchange), caller, context)
  const decisions = await context.queue.explain(record.taskId, ALL)
  const isPaused = pausedBy(await context.store.pauses.list())
  return ok({ decisions: decisions.map((decision) => ofService(decision, record, isPaused, context)) })
}

/** A decision of the queue with what the store goes by beside it: pauses, and limits of targets. */
function ofService(
  decision: Decision,
  { lane }: StoredTask,
  isPaused: ReturnType<typeof pausedBy>,
  { isLimited }: ApiContext,
): Decision {
  const { kind, data } = decision
  if (kind !== 'waits' || data?.gate !== 'ready') return decision
  if (isPaused(lane)) {
    const paused = 'waits for the end of a pause: DELETE /pauses/{pauseId} lifts it'
    return { ...decision, text: paused, data: { ...data, gate: 'paused' } }
  }
  if (!isLimited?.(originIn(lane))) return decision
  return { ...decision, text: 'waits for its turn within the limit of its target, or for a free place (concurrency)' }
}

export async function getBody(exchange: Exchange): Promise<Reply> {
  const { caller, context } = exchange
  const taskId = idOf(exchange)
  const record = await seenTask(taskId, caller, context)
  const apart = bodyIn(record)
  const bytes = apart ? await bytesApart(apart, record, exchange) : await context.store.body(taskId)
  if (bytes === undefined) throw missingBody(record)
  return {
    status: 200,
    body: bytes as BodyInit,
    headers: {
      'content-type': record.headers['content-type'] ?? 'application/octet-stream',
      'content-disposition': `attachment; filename="${taskId}"`,
      // a page that a stranger has sent is not to run here
      'content-security-policy': "sandbox; default-src 'none'",
    },
  }
}

/** A body that lies apart from its task, as a stream. Throws 'body-gone', 'no-body-store', 'store-unavailable'. */
async function bytesApart(
  body: TaskBody,
  { taskId, principal }: StoredTask,
  { context: { bodies, bodySources } }: Exchange,
): Promise<ReadableStream> {
  const isOwn = 'source' in body
  if (isOwn ? bodySources?.refuse(body.source, principal) !== undefined : !bodies) {
    throw new Problem('no-body-store', `the body of task ${taskId} lies in a store that this process has not`)
  }
  try {
    const stream = await (isOwn ? bodySources?.open(body, principal) : bodies?.open(body))
    return Readable.toWeb(stream as Readable) as unknown as ReadableStream
  } catch (error) {
    if (error instanceof BodyMissingError) throw new Problem('body-gone', `task ${taskId}: ${error.message}`)
    if (error instanceof BodyStoreError) throw new Problem('store-unavailable', error.message)
    throw error
  }
}

function missingBody({ taskId, status }: StoredTask): Problem {
  const isGone = status === 'SUCCEEDED' || status === 'CANCELLED'
  if (isGone)
    return new Problem('body-gone', `task ${taskId} has ended (${status}), and bodies go with the end of a task`)
  return new Problem('not-found', `task ${taskId} has no body`)
}
