/**
 * The limit of a first attempt, where nothing was said about it: it is over once the attempt has lasted so long, unless its server answers no
 * one. Not in pages: a browser opens six connections to a server, and those that hang would keep others from being tried.
 */

import type { AttemptClock } from '../call/attempt.ts'
import type { Call } from '../call/call.ts'
import { FLAG_REPLAYABLE, OP_LASTS } from '../core/codes.ts'
import { ATTEMPT_MS, bodyMs } from '../options/first-policy.ts'
import { FOREVER, systemClock, timeoutError } from '../platform/clock.ts'
import { isPage } from '../platform/page.ts'
import type { QueueContext } from '../runner/context.ts'
import { type Loader, loadCore, type MakeLoader } from './core-loader.ts'

/** Origins of which the last answer is remembered. */
const MOST_ORIGINS = 1_000
/** An attempt whose limit is over waits for the core no longer than this, in ms of real time, whatever the clock. */
const LOADING_MS = 500

/** Loads the core, and has it asked before a first attempt is given up. */
export const patientLoader: MakeLoader = (source, host) => {
  const core = loadCore(source, host)
  const answeredAt = new Map<string, number>()
  if (!isPage()) host.patient = (call, createdAt) => patientClock(host, core, answeredAt, call, createdAt)
  return core
}

function patientClock(
  host: QueueContext,
  core: Loader,
  answeredAt: Map<string, number>,
  call: Call,
  createdAt: number,
): AttemptClock {
  const { settings, now } = host
  const { clock } = settings
  const { origin, principal, timeoutMs, waitMs, options } = call
  return {
    after(limitMs, onLimit) {
      const startedAt = now()
      let isEnded = false
      let stays = false
      let disarm = clock.after(limitMs, () => (limitMs === timeoutMs && hasDefault(call) ? look() : onLimit()))
      const look = async () => {
        const manager = core.opened ?? (await inTime(core))
        if (isEnded) return
        const leavesAt = Math.min(createdAt + waitMs, options.expiresAt ?? FOREVER)
        const own = [startedAt, answeredAt.get(origin) ?? 0, leavesAt]
        // of no use to a principal who has left
        const until = principal === host.principal && manager ? lasts(manager.runner, call, own) : 0
        if (until > now()) {
          stays = true
          disarm = clock.after(until - now(), look)
          return
        }
        const words = `attempt 1 had no answer within ${now() - startedAt} ms, nor had other calls`
        onLimit(stays ? timeoutError(words) : undefined)
      }
      return (answer) => {
        isEnded = true
        disarm()
        if (!answer) return
        if (answeredAt.size >= MOST_ORIGINS) answeredAt.clear()
        answeredAt.set(origin, now())
      }
    },
  }
}

/** Whether nothing is said about the time of an attempt, and its caller waits for it. An adapter may have said it. */
const hasDefault = ({ policy, timeoutMs, bytes, options }: Call): boolean =>
  policy.attemptTimeoutMs === undefined && timeoutMs === ATTEMPT_MS + bodyMs(bytes) && options.mode !== 'defer'

function inTime(core: Loader): Promise<Loader['opened']> {
  return new Promise((resolve) => {
    const disarm = systemClock.after(LOADING_MS, () => resolve(undefined))
    core.open().then((manager) => {
      disarm()
      resolve(manager)
    })
  })
}

/** Until when an attempt goes on; 0: it is given up. `words`: when it began, when its server last answered, and until when its caller waits. */
function lasts(runner: NonNullable<Loader['opened']>['runner'], call: Call, words: readonly number[]): number {
  const { core, lanes, policies, host, state } = runner
  if (state === 'stopped') return 0
  const flags = call.replayable ? FLAG_REPLAYABLE : 0
  const ask = (policy: number) =>
    core.send(OP_LASTS, host.now(), lanes.of(call.principal, call.origin), policy, flags, ...words)
  return runner.guard(() => policies.with(call.policy, ask)) ?? 0
}
