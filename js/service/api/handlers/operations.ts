/** /operations: how far a redrive or a purge of many has come, and its end. */

import { type Exchange, ok, type Reply } from '../exchange.ts'
import { ended, findOperation, isOver, type OperationRow, showOperation, writeOperation } from '../operation-rows.ts'
import { Problem } from '../problem.ts'

const TRIES = 5

export async function getOperation(exchange: Exchange): Promise<Reply> {
  return ok(showOperation((await seenOperation(exchange)).operation))
}

/** An operation stops after the part under way; one that has ended stays as it is. */
export async function stopOperation(exchange: Exchange): Promise<Reply> {
  const { clock, store } = exchange.context
  for (let tries = 0; tries < TRIES; tries++) {
    const { operation, version } = await seenOperation(exchange)
    if (isOver(operation)) return ok(showOperation(operation))
    const now = clock.now()
    const isHeld = operation.owner !== undefined && (operation.leaseUntil ?? 0) > now
    const next = isHeld ? { ...operation, status: 'STOPPING' as const } : ended(operation, 'STOPPED', now)
    if ((await writeOperation(store.registry, next, version)) === 'written') return ok(showOperation(next))
  }
  throw new Problem('store-unavailable', 'the operation changes all the time; ask again')
}

/** Throws 'not-found', also for another tenant's. */
async function seenOperation({ params, caller, context }: Exchange): Promise<OperationRow> {
  const operationId = params.operationId ?? ''
  const row = await findOperation(context.store.registry, operationId)
  const { scope } = row?.operation ?? {}
  const isSeen = scope && (caller.seesAll || ('principal' in scope && scope.principal === caller.tenant))
  if (row && isSeen) return row
  throw new Problem('not-found', `there is no operation '${operationId}', or it ended more than a day ago`)
}
