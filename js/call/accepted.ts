/** The 202 of a deferred call, which says that its task is kept, and where. */

import type { AcceptedBody } from '../api/methods.ts'
import type { Acceptance } from './transport.ts'

export function acceptedForm(acceptance: Acceptance): {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
} {
  const { taskId, traceId, durability } = acceptance
  const headers = { 'content-type': 'application/json', 'redrive-task-id': taskId, 'redrive-durability': durability }
  const body: AcceptedBody = { status: 'queued', taskId, traceId, durability }
  return { headers, body: JSON.stringify(body) }
}
