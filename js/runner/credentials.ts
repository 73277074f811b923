/**
 * Asks for the credentials of an attempt. Which entry is asked is decided by the URL that is about to be sent to, and by
 * nothing that was noted of it earlier: a row that was changed in its store must not take another origin's token along (S12).
 */

import type { CredentialsRequest, GiveCredentials } from '../api/credentials.ts'
import type { AttemptContext, RetryTask } from '../api/task.ts'
import { asksAfter, type Finished } from '../call/attempt.ts'
import type { Call } from '../call/call.ts'
import { hookHeaders } from '../call/hook-headers.ts'
import { giversOf } from '../options/givers.ts'
import type { Settings } from '../options/queue-options.ts'
import { within } from '../platform/clock.ts'
import { unsaid } from '../platform/error-text.ts'
import type { HeadersLike } from '../platform/web.ts'
import type { Task } from '../tasks/task.ts'
import type { QueueContext } from './context.ts'

/** Longest time a hook may take: a lease has to last beyond it. */
export const HOOK_MS = 5_000

/** Where a call goes. */
export function originOf({ url }: Pick<Call, 'url'>): string {
  return new URL(url).origin
}

/** Finds the resolver of credentials for a call; undefined: there is none. */
export function giverFor({ credentials }: Settings, call: Pick<Call, 'url' | 'own'>): GiveCredentials | undefined {
  const givers = giversOf(call.own?.credentials ?? credentials)
  // most queues have none, and need not parse the URL again
  return givers.size > 0 ? givers.get(originOf(call)) : undefined
}

/** Asks. Rejects, with an error whose words hold no credential, where none is given in time or it is no valid headers. */
export async function askFor(
  give: GiveCredentials,
  { taskId, about }: Task,
  call: Call,
  { targetUrl: url, withheldHeaders }: RetryTask,
  context: AttemptContext,
  { clock }: Settings,
  limitMs: number = HOOK_MS,
): Promise<Headers> {
  const origin = originOf(call)
  const { method, principal } = about
  const request: CredentialsRequest = { origin, url, method, taskId, principal, withheldHeaders, ...context }
  const given = new Promise<HeadersLike>((resolve) => resolve(give(request))).catch(withoutWords)
  return hookHeaders(await within(clock, limitMs, 'credentials', given), 'it', 'without')
}

/** The remedy where a task's missing headers are supplied by nothing. */
export function remedyFor(settings: Settings, call: Pick<Call, 'url'>): string {
  const entry = `credentials['${originOf(call)}']`
  return giverFor(settings, call) ? `${entry} has to give them` : `${entry} has to be there and give them`
}

/** Whether a first attempt that was refused is made once more, with the fresh credentials that its caller asks for. */
export function mayRefresh(call: Call, { status, said }: Finished, host: QueueContext): boolean {
  if (!asksAfter(call, status) || said?.retry === false) return false
  if (giverFor(host.settings, call)) return true
  const message = `${call.method} ${call.origin} was refused (401); ${remedyFor(host.settings, call)}`
  host.degraded('credentials_missing', message, call.origin, { origin: call.origin })
  return false
}

/** Hides the words of an error of a user's hook: they may quote a credential that cannot be found in them. */
function withoutWords(error: unknown): never {
  throw new Error(unsaid(error))
}
