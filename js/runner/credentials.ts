/**
 * Asks for the credentials of an attempt. Which entry is asked is decided by the URL that is about to be sent to, and by
 * nothing that was noted of it earlier: a row that was changed in its store must not take another origin's token along (S12).
 */

import type { GiveCredentials } from '../api/credentials.ts'
import { asksAfter, type Finished } from '../call/attempt.ts'
import type { Call } from '../call/call.ts'
import { giversOf } from '../options/givers.ts'
import type { Settings } from '../options/queue-options.ts'
import { FOREVER, within } from '../platform/clock.ts'
import type { QueueContext } from './context.ts'
import { type Asker, ask, HOOK_MS } from './questions.ts'

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

/** Asks, for a waiting time and the hook's own at most. Rejects, with an error whose words hold no credential. */
export function askFor(
  host: QueueContext,
  give: GiveCredentials,
  call: Pick<Call, 'url'>,
  asker: Asker,
  leftMs: number = FOREVER,
): Promise<Headers> {
  const limitMs = Math.min(2 * HOOK_MS, Math.max(1, leftMs))
  return within(host.settings.clock, limitMs, 'credentials', ask(host, give, originOf(call), asker))
}

/** The remedy where a task's missing headers are supplied by nothing. */
export function remedyFor(settings: Settings, call: Pick<Call, 'url'>): string {
  const entry = `credentials['${originOf(call)}']`
  return giverFor(settings, call) ? `${entry} has to give them` : `${entry} has to be there and give them`
}

/** The calls that have parked tasks go on. */
export const unparkedBy = ({ unparkedBy = 'resume() or setPrincipal()' }: Pick<QueueContext, 'unparkedBy'>): string =>
  unparkedBy

/** Whether a first attempt that was refused is made once more, with the fresh credentials that its caller asks for. */
export function mayRefresh(call: Call, { status, said }: Finished, host: QueueContext): boolean {
  if (!asksAfter(call, status) || said?.retry === false) return false
  if (giverFor(host.settings, call)) return true
  const message = `${call.method} ${call.origin} was refused (401); ${remedyFor(host.settings, call)}`
  host.degraded('credentials_missing', message, call.origin, { origin: call.origin })
  return false
}
