/**
 * The limit of a first attempt, where nothing was said about it: it is over once the attempt has lasted so long, unless its server answers no
 * one. Not in pages: a browser opens six connections to a server, and those that hang would keep others from being tried.
 */

import type { Call } from '../call/call.ts'
import { OP_LASTS } from '../core/codes.ts'
import { ATTEMPT_MS, bodyMs } from '../options/first-policy.ts'
import type { Clock } from '../platform/clock.ts'
import { isPage } from '../platform/page.ts'
import type { QueueContext } from '../runner/context.ts'
import { type Loader, loadCore, type MakeLoader } from './core-loader.ts'

/** Loads the core, and has it asked before a first attempt is given up. */
export const patientLoader: MakeLoader = (source, host) => {
  const core = loadCore(source, host)
  if (!isPage()) host.patient = (call, createdAt) => patientClock(host, core, call, createdAt)
  return core
}

/** A clock whose timer for the limit of a first attempt asks the core, for as long as the caller waits. */
function patientClock(host: QueueContext, core: Loader, call: Call, createdAt: number): Pick<Clock, 'after'> {
  const { settings, now } = host
  const { clock } = settings
  const { policy, timeoutMs, bytes, options, waitMs } = call
  const isDefault = policy.attemptTimeoutMs === undefined && timeoutMs === ATTEMPT_MS + bodyMs(bytes)
  if (!isDefault || options.mode === 'defer') return clock
  return {
    after(limitMs, onLimit) {
      const startedAt = now()
      let isEnded = false
      let disarm = clock.after(limitMs, () => look(true))
      const look = async (isFirst: boolean) => {
        const until = Math.min(await lasts(core, call, startedAt, isFirst), createdAt + waitMs)
        if (isEnded) return
        if (until > now()) disarm = clock.after(until - now(), () => look(false))
        else onLimit()
      }
      return () => {
        isEnded = true
        disarm()
      }
    },
  }
}

/** Until when an attempt goes on; in the past: it is given up. */
async function lasts(loader: Loader, call: Call, startedAt: number, isFirst: boolean): Promise<number> {
  const runner = (await loader.open())?.runner
  if (!runner || runner.stopped) return 0
  const { core, lanes, policies, host } = runner
  const until = runner.guard(() => {
    const lane = lanes.of(call.principal, call.origin)
    return policies.with(call.policy, (policy) => core.send(OP_LASTS, host.now(), lane, policy, startedAt, isFirst))
  })
  runner.tickSoon()
  return until ?? 0
}
