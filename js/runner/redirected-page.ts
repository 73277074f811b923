/** Tells of a task that counts as delivered although its answer is a page that a redirect led to, as where its session has ended. */

import type { Finished } from '../call/attempt.ts'
import type { Call } from '../call/call.ts'
import type { RepeatAnswer } from '../call/transport.ts'
import type { Task } from '../tasks/task.ts'
import type { QueueContext } from './context.ts'

export function tellPage(
  { what, origin }: Task,
  { policy }: Call,
  { answer, status }: Finished<RepeatAnswer>,
  { degraded }: QueueContext,
): void {
  if (!answer?.becameGet || status >= 400 || policy.expect) return
  if (!/^text\/html\b/i.test(answer.header('content-type') ?? '')) return
  const message = `${what} counts as delivered, but was redirected to a page; if that is a login page, set policy.expect, such as { contentType: 'application/json' }`
  degraded('redirected_to_page', message, origin, { origin })
}
