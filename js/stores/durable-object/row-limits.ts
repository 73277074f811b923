/** Whether a record fits the rows it would become. Bodies do not count: they are cut into parts. */

import { RedriveError } from '../../api/errors.ts'
import type { NewTask } from '../../api/store.ts'
import { originIn } from '../../options/check.ts'
import { utf8 } from '../../platform/utf8.ts'
import { recordOf } from '../engine/parts.ts'
import { ROW_BYTES } from './database.ts'

/** For a row's numbers and words of fixed length, with room to spare. */
const REST_BYTES = 1_000

/** The error that `enqueue` would reject with; `undefined`: the record fits. */
export function tooLarge(task: NewTask): RedriveError | undefined {
  const urlBytes = bytesOf(task.targetUrl)
  const headerBytes = bytesOf(JSON.stringify(task.headers))
  const others = [
    recordOf(task),
    // both name the principal: the lane once more, with the origin
    ...[task.lane, task.principal, originIn(task.targetUrl)],
    ...[task.taskId, task.idempotencyKey, task.fingerprint, task.method, task.orderKey, task.home],
  ]
  const rowBytes = others.reduce((sum, text) => sum + bytesOf(text ?? ''), urlBytes + headerBytes + REST_BYTES)
  const logBytes = Math.max(0, ...(task.log ?? []).map((log) => bytesOf(JSON.stringify(log)) + REST_BYTES))
  if (Math.max(rowBytes, logBytes) <= ROW_BYTES) return undefined
  const sizes = `${rowBytes} bytes (${urlBytes} of its URL, ${headerBytes} of its headers)`
  const logged = logBytes > ROW_BYTES ? `, and a line of its log ${logBytes}` : ''
  return new RedriveError(
    'RECORD_TOO_LARGE',
    `task '${task.taskId}' (${task.method} ${originIn(task.targetUrl) ?? ''}): its record has ${sizes}${logged}; a row of a Durable Object holds ${ROW_BYTES}. It was not stored; what is large belongs in the body, which may be larger`,
  )
}

/** In UTF-8. */
function bytesOf(text: string): number {
  return utf8(text).length
}
