/** A task as the API shows it: as the package does, with what else its record says, and its tenant by that name. */

import type { AttemptLog, RetryTask } from 'redrive'
import { showRecord } from 'redrive/internal'
import { LOG_LENGTH, type StoredTask } from 'redrive/store'
import { type Callback, type SenderData, senderDataOf } from '../sending.ts'
import type { ApiContext, ApiStore } from './context.ts'
import { inSlices } from './in-slices.ts'
import { tagsIn } from './new-task.ts'
import { Problem } from './problem.ts'
import { type Caller, sees } from './tokens.ts'

/** The part of a task that its history alone has. */
interface Outcome {
  readonly lastStatus?: number | null
  readonly lastError?: string | null
  readonly endedAt?: number
}

export interface TaskOut extends Omit<RetryTask, 'principal' | 'meta' | 'tags'>, Outcome {
  readonly tenant: string | null
  readonly deadlineAt: number | null
  readonly priority: number
  readonly orderKey?: string
  readonly tags?: Readonly<Record<string, string>>
  readonly credential?: string
  readonly signing?: string
  readonly callback?: Callback
  readonly parked: boolean
}

export function showTask(record: StoredTask, { sanitizer }: Pick<ApiContext, 'sanitizer'>): TaskOut {
  const { principal, tags: _, meta: __, ...shown } = showRecord(record, sanitizer as Parameters<typeof showRecord>[1])
  const { deadlineAt, priority, orderKey, parked } = record
  const tags = tagsIn(record.tags)
  const { credential, signing, callback } = namesIn(record)
  return {
    ...shown,
    tenant: principal,
    deadlineAt: Number.isFinite(deadlineAt) ? deadlineAt : null,
    priority,
    ...(orderKey !== undefined && { orderKey }),
    ...(tags && { tags }),
    ...bodyRefOf(record),
    ...(credential !== undefined && { credential }),
    ...(signing !== undefined && { signing }),
    ...(callback && { callback: { ...callback, url: sanitizer.url(callback.url) } }),
    parked,
  }
}

/** A record that other code has made is shown without what cannot be read of it. */
function namesIn(record: StoredTask): SenderData {
  try {
    return senderDataOf(record)
  } catch {
    return {}
  }
}

/** A body that lies apart from its task: an upload and one of its caller's own by its reference. */
function bodyRefOf(record: StoredTask): { readonly bodyRef?: string } {
  if (record.status === 'SUCCEEDED' || record.status === 'CANCELLED') return {}
  const { upload, ref, source } = (record.senderData?.body ?? {}) as Readonly<Record<string, unknown>>
  const named = [upload, source].find((each) => typeof each === 'string') as string | undefined
  if (named !== undefined) return { bodyRef: named }
  return ref === undefined ? {} : { bodyRef: 'stored' }
}

/** The task with what became of its last attempt and when it ended, which costs a look into its history. */
export async function showWhole(record: StoredTask, context: ApiContext): Promise<TaskOut> {
  const shown = showTask(record, context)
  if (record.attemptNumber === 0 && !isEnded(record)) return shown
  const lines = await youngestLines(record.taskId, context.store)
  const sent = lines.findLast(({ responseStatus, errorMessage }) => responseStatus !== null || errorMessage !== null)
  return {
    ...shown,
    ...(sent && { lastStatus: sent.responseStatus, lastError: sent.errorMessage }),
    ...(isEnded(record) && { endedAt: endIn(lines, record) }),
  }
}

/** Tasks of a list. Dead letters are shown whole: they are asked for to learn why they are there. */
export const showListed = (records: readonly StoredTask[], context: ApiContext): Promise<TaskOut[]> =>
  inSlices(records, (record) =>
    record.status === 'EXHAUSTED' ? showWhole(record, context) : showTask(record, context),
  )

/** The last attempt and the last note of a task, in order, and maybe more before them. */
const youngestLines = async (taskId: string, store: ApiStore): Promise<readonly AttemptLog[]> =>
  (await store.history?.(taskId, 1)) ?? (await store.attempts(taskId, { limit: LOG_LENGTH })).attempts

/** When a task ended that has, by the last line of its history. */
export async function endedAtOf(record: StoredTask, store: ApiStore): Promise<number> {
  return endIn(await youngestLines(record.taskId, store), record)
}

function endIn(lines: readonly AttemptLog[], { createdAt }: StoredTask): number {
  const last = lines.at(-1)
  return last ? last.startedAt + last.durationMs : createdAt
}

export const isEnded = ({ status }: Pick<StoredTask, 'status'>): boolean =>
  status !== 'PENDING' && status !== 'IN_FLIGHT'

const noTask = (taskId: string): Problem =>
  new Problem('not-found', `there is no task '${taskId}' here, or it is past its retention`)

/** The task, if the caller may see it. Another tenant's is not there at all (T16). */
export async function seenTask(taskId: string, caller: Caller, { store }: ApiContext): Promise<StoredTask> {
  const record = await store.get(taskId)
  if (!record || !sees(caller, record)) throw noTask(taskId)
  return record
}
