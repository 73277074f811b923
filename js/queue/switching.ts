/**
 * Keeps what is made for one principal from going out with another's cookies, while they change hands and after (S16). It works
 * without the core: a login has to take place where that cannot load (S18).
 */

import { RedriveError } from '../api/errors.ts'
import type { SwitchOptions } from '../api/methods.ts'
import type { Call } from '../call/call.ts'
import { instantOf, within } from '../platform/clock.ts'
import type { QueueContext } from '../runner/context.ts'

/** The default of `waitMs`. */
const WAIT_MS = 30_000

/** Names another principal. `tell`: tells the rest of the queue, and other tabs, that it is another than `from`. */
export async function switchPrincipal(
  principal: string | null,
  options: SwitchOptions,
  host: QueueContext,
  tell: (from: string | null, purge: boolean) => Promise<void>,
): Promise<void> {
  host.checks?.principal(principal, options, host.settings.durable)
  // before the checks have come, too: no task may be made for a user who is none
  if (principal !== null && (typeof principal !== 'string' || (!principal && host.settings.durable)))
    throw new TypeError("setPrincipal: expected a user's id, or null")
  const { purge = false, during } = options
  const { principal: before, declaredAt, settings } = host
  // another principal may be named meanwhile, but the cookies become that login's
  if (host.switching && (during || principal !== before))
    throw new RedriveError('PRINCIPAL_CHANGING', 'await setPrincipal({ during }) first')
  const declare = (to: string | null, at = instantOf(settings.clock)) => {
    host.principal = to
    host.declaredAt = at
  }
  declare(principal)
  if (during) {
    // nothing is sent before it has resolved. Other tabs of the store have to hear of it first; a store that cannot be told reports it
    // when the login is over
    const login = tell(before, false)
      .catch(() => {})
      // `then` would pass over what is no function, such as a login that runs already
      .then(() => during())
    host.switching = login
      // the cookies are those of the login that ended last
      .then(
        () => declare(host.principal),
        () => declare(before, declaredAt),
      )
      .finally(() => {
        host.switching = undefined
      })
    await host.switching
    await login.catch(async (error) => {
      await tell(principal, false).catch(() => {})
      throw error
    })
  }
  await tell(before, purge)
}

/** Where there is no core, has the other pages hear of it all the same, as `PrincipalNews` does (S16). */
export function announce({ principal, declaredAt: { wall }, settings, switching }: QueueContext): void {
  try {
    const channel = new BroadcastChannel(`redrive/${settings.name}`)
    channel.postMessage({ principal, since: wall, login: switching && 'unstored' })
    channel.close()
  } catch {
    // there are none here, or storage is forbidden
  }
}

/** Resolves when the login under way has ended; the next one may have begun. A call that one waits for by itself ends, and says how to make it. */
export function whenSwitched(
  { options }: Call,
  { settings }: QueueContext,
  switching: Promise<unknown>,
): Promise<unknown> {
  const what = 'setPrincipal({ during }), in which a call needs redrive: false,'
  return within(settings.clock, options.waitMs ?? WAIT_MS, what, switching)
}

/** The last look before a call leaves: its principal may have left meanwhile, or its caller, who hears no more of it. */
export function assertOwn({ method, origin, principal, isLeft }: Call, host: QueueContext): void {
  if (principal === host.principal && !isLeft) return
  const message = `${method} ${origin}: it was made for another principal; make it anew`
  throw new RedriveError('PRINCIPAL_CHANGED', message)
}
