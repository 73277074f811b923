/** The dead letters of a queue as its users see them: asking for all of them loads nothing, unless tasks may lie in a store. */

import type { DeadLetters, TaskPage } from '../api/methods.ts'
import type { TaskManager } from '../runner/manager.ts'

export const NO_TASKS: TaskPage = { tasks: [] }

/** The answer of each method where there is no manager, and so nothing to find; undefined: only one that runs has an answer. */
const NOTHING: { readonly [K in keyof DeadLetters]: unknown } = {
  list: NO_TASKS,
  redrive: undefined,
  redriveAll: 0,
  purge: 0,
  purgeAll: 0,
  export: undefined,
}

type Method = (...given: unknown[]) => unknown

/**
 * `find` gives undefined where there is no manager, and starts one for a question `about` something; `acting` does so where no store may hold tasks;
 * `running` starts one, or rejects.
 */
export function deadLettersOf(
  find: (about: unknown) => Promise<TaskManager | undefined>,
  acting: (about: unknown) => Promise<TaskManager | undefined>,
  running: () => Promise<TaskManager>,
): DeadLetters {
  const methods = Object.entries(NOTHING).map(([name, nothing]) => [
    name,
    async (...given: unknown[]) => {
      const about = given.length || undefined
      const manager = await (nothing === undefined ? running() : nothing === 0 ? acting(about) : find(about))
      const deadLetters = manager?.deadLetters as unknown as Record<string, Method> | undefined
      return deadLetters ? (deadLetters[name] as Method)(...given) : nothing
    },
  ])
  return Object.fromEntries(methods)
}
