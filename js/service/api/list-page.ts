/** A page of tasks as the API shows it: bounded in bytes as in tasks, and read with breaks, since tasks may be large and others wait. */

import type { TaskFilter } from 'redrive/store'
import type { ApiContext } from './context.ts'
import { ok, type Reply } from './exchange.ts'
import { afterOthers } from './in-slices.ts'
import { showListed, type TaskOut } from './show.ts'

/** Beyond it a page ends, but for its first task. */
const MOST_BYTES = 2 ** 20
/** Tasks that are asked for at once. */
const AT_ONCE = 32

export async function listPage(filter: TaskFilter, context: ApiContext): Promise<Reply> {
  const tasks: TaskOut[] = []
  let bytes = 0
  let { cursor } = filter
  for (;;) {
    const limit = Math.min(AT_ONCE, filter.limit - tasks.length)
    const page = await context.store.list({ ...filter, limit, ...(cursor !== undefined && { cursor }) })
    for (const task of await showListed(page.tasks, context)) {
      bytes += Buffer.byteLength(JSON.stringify(task))
      if (bytes > MOST_BYTES && tasks.length > 0) return ok({ tasks, cursor: tasks.at(-1)?.taskId })
      tasks.push(task)
    }
    cursor = page.cursor
    if (cursor === undefined) return ok({ tasks })
    // a page that is short has looked at as many as one may
    if (page.tasks.length < limit || tasks.length >= filter.limit) return ok({ tasks, cursor })
    await afterOthers()
  }
}
