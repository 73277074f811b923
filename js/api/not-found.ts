/** The error that every question about an unknown task ends with. No entry passes it on, as those of `task-errors.ts`, so it is in none. */

import { RedriveError } from './errors.ts'

/** The answer to a question about a task that is not here. */
export function notFound(taskId: string): RedriveError {
  return new RedriveError('TASK_NOT_FOUND', `there is no task '${taskId}' here, or it is past its retention`)
}
