/** /dead-letters: tasks that were given up, one by one and many at once. Many are an operation, which goes on when its caller has left. */

import { LOG_LENGTH, plural, utf8 } from 'redrive/internal'
import type { StoredTask } from 'redrive/store'
import { countDead, type DeadScope, deadPage } from '../dead-filter.ts'
import { purgeDead } from '../drop-body.ts'
import { type Exchange, NO_CONTENT, ok, type Reply } from '../exchange.ts'
import { afterOthers } from '../in-slices.ts'
import { listPage } from '../list-page.ts'
import { beginOperation, type NewOperation, showOperation } from '../operation-rows.ts'
import { pageFilter } from '../page-filter.ts'
import { Problem } from '../problem.ts'
import { callbackRoom } from '../room.ts'
import type { DeadFilter, PurgeIn, RedriveManyIn, RedriveOneIn } from '../schemas/control.ts'
import type { DeadQuery } from '../schemas/task.ts'
import { seenTask, showWhole } from '../show.ts'
import { ownOf } from '../tokens.ts'

const idOf = ({ params }: Exchange): string => params.taskId ?? ''

export async function listDead({ query, caller, context }: Exchange<DeadQuery>): Promise<Reply> {
  return listPage({ status: 'EXHAUSTED', ...ownOf(caller), ...pageFilter(query) }, context)
}

export async function redriveOne(exchange: Exchange<unknown, RedriveOneIn>): Promise<Reply> {
  const { body, caller, context } = exchange
  const taskId = idOf(exchange)
  const before = await seenTask(taskId, caller, context)
  if (before.status !== 'EXHAUSTED') return backBefore(before, exchange)
  if (before.senderData?.callback !== undefined) await checkRoom(before, exchange)
  const { acceptDuplicateRisk = false } = body
  await context.tellEnds([taskId])
  const [outcome] = await context.store.redrive([taskId], { spacingMs: 0, acceptDuplicateRisk })
  if (outcome === 'key_expired') {
    const why =
      'its first attempt is longer ago than its policy’s keyTtlMs, so the server may do the work a second time'
    throw new Problem('key-expired', `task ${taskId} stays: ${why}; { "acceptDuplicateRisk": true } accepts that`, {
      taskId,
    })
  }
  if (outcome === 'untold') {
    const why = 'its callback is still to report its end, for which the store has no room'
    throw new Problem('queue-full', `task ${taskId} stays: ${why}`, { taskId })
  }
  const task = await seenTask(taskId, caller, context)
  // another call of the same was faster
  if (outcome === 'gone') return backBefore(task, exchange)
  return ok({ ...(await showWhole(task, context)), outcome: 'redriven' })
}

/** The answer about a task that is no dead letter any more. Throws 'not-found' for one that never was. */
async function backBefore(task: StoredTask, { context }: Exchange): Promise<Reply> {
  const history = (await context.store.history?.(task.taskId)) ?? []
  if (!history.some(({ kind }) => kind === 'redriven')) throw notDead(task)
  return ok({ ...(await showWhole(task, context)), outcome: 'redriven_before' })
}

export async function purgeOne(exchange: Exchange): Promise<Reply> {
  const taskId = idOf(exchange)
  await deadLetter(exchange)
  await purgeDead(taskId, exchange.context)
  return NO_CONTENT
}

/** Throws 'not-found' for a task that is no dead letter. */
async function deadLetter(exchange: Exchange): Promise<void> {
  const task = await seenTask(idOf(exchange), exchange.caller, exchange.context)
  if (task.status !== 'EXHAUSTED') throw notDead(task)
}

const notDead = ({ taskId, status }: StoredTask): Problem =>
  new Problem('not-found', `task ${taskId} is no dead letter: ${status}`, { taskId, taskStatus: status })

/** Throws 'quota-exceeded' where a tenant has no room for the callback of another end. */
async function checkRoom({ principal }: StoredTask, { context }: Exchange): Promise<void> {
  const { room, held } = await callbackRoom(principal, context)
  if (room > 0) return
  const why = `with callbacks ${held} tasks are held, twice what this tenant may have`
  throw new Problem(
    'quota-exceeded',
    `${why}: the task stays, and goes back once callbacks are through or dead letters are deleted`,
  )
}

const scopeOf = ({ caller }: Exchange, filter: DeadFilter): DeadScope => ({ filter: given(filter), ...ownOf(caller) })

/** Without parts that are undefined: it is stored. */
const given = (filter: DeadFilter): DeadFilter =>
  Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined))

export async function redriveMany(exchange: Exchange<unknown, RedriveManyIn>): Promise<Reply> {
  const { filter, perSecond, acceptDuplicateRisk } = exchange.body
  const scope = scopeOf(exchange, filter)
  const total = await countDead(exchange.context.store, scope)
  return begin(exchange, {
    kind: 'redrive',
    scope,
    total,
    ...(perSecond !== undefined && { perSecond }),
    ...(acceptDuplicateRisk !== undefined && { acceptDuplicateRisk }),
  })
}

export async function purgeMany(exchange: Exchange<unknown, PurgeIn>): Promise<Reply> {
  const { filter, confirm } = exchange.body
  const scope = scopeOf(exchange, filter)
  // those that end from now on may be in no count
  const endedBefore = Math.min(filter.endedBefore ?? Number.POSITIVE_INFINITY, await exchange.storeNow())
  const total = await countDead(exchange.context.store, scope)
  if (total !== confirm) {
    const detail = `there ${total === 1 ? 'is' : 'are'} ${plural(total, 'dead letter')} of this filter, and ${confirm} were to be deleted; nothing was`
    throw new Problem('count-changed', detail, { count: total })
  }
  return begin(exchange, { kind: 'purge', scope: { ...scope, filter: { ...scope.filter, endedBefore } }, total })
}

async function begin({ context }: Exchange, operation: NewOperation): Promise<Reply> {
  const begun = await beginOperation(context.store.registry, operation, context.clock.now())
  const location = `/operations/${begun.operationId}`
  return { status: 202, json: showOperation(begun), headers: { location } }
}

/** Dead letters of one page of an export. */
const PAGE = 16

export async function exportDead(exchange: Exchange<DeadFilter>): Promise<Reply> {
  const lines = linesOf(scopeOf(exchange, exchange.query), exchange)
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await lines.next()
        if (done) controller.close()
        else controller.enqueue(utf8(value))
      } catch (error) {
        // its reader sees that the export broke off, and the log says why
        const { context, requestId } = exchange
        context.log({ event: 'error', requestId, what: 'export', message: context.sanitizer.message(error) })
        controller.error(error)
      }
    },
    async cancel() {
      await lines.return(undefined)
    },
  })
  const headers = {
    'content-type': 'application/x-ndjson',
    'content-disposition': 'attachment; filename="dead-letters.ndjson"',
  }
  return { status: 200, body, headers }
}

/** A text for each page, of a line for each task. */
async function* linesOf(scope: DeadScope, { context }: Exchange): AsyncGenerator<string, undefined> {
  const { store, queue } = context
  for (let cursor: string | undefined; ; ) {
    const page = await deadPage(store, scope, PAGE, cursor)
    let text = ''
    for (const record of page.tasks) {
      const { attempts } = await queue.attempts(record.taskId, { allPrincipals: true, limit: LOG_LENGTH })
      text += `${JSON.stringify({ task: await showWhole(record, context), attempts })}\n`
    }
    if (text !== '') yield text
    if (page.cursor === undefined) return undefined
    cursor = page.cursor
    await afterOthers()
  }
}
