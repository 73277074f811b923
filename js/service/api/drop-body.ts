/** The body of a task that will not be sent again, where it lies apart from its record and is the task's alone: it is deleted with its task. */

import type { StoredTask } from 'redrive/store'
import type { ApiContext } from './context.ts'

export interface Dropping extends Pick<ApiContext, 'log' | 'sanitizer'> {
  /** Absent: bodies lie with their tasks alone. */
  readonly bodies?: Pick<NonNullable<ApiContext['bodies']>, 'dropBody'> | undefined
}

/** One that cannot be deleted now is an orphan, which its age ends. */
export async function dropBody(task: StoredTask, { bodies, log, sanitizer }: Dropping): Promise<void> {
  await bodies?.dropBody(task).catch((error: unknown) => {
    log({ event: 'error', what: 'body', taskId: task.taskId, message: sanitizer.message(error) })
  })
}

/** Deletes a dead letter, once its end was reported if there is room for that. One that was put back meanwhile is none, and keeps its body. */
export async function purgeDead(
  taskId: string,
  context: Dropping & Pick<ApiContext, 'store' | 'tellEnds'>,
): Promise<void> {
  const { store, bodies } = context
  await context.tellEnds([taskId])
  const task = bodies && (await store.get(taskId))
  const count = await store.purge({ taskId, status: 'EXHAUSTED' })
  if (task && count > 0) await dropBody(task, context)
}
