/**
 * Lets a queue send what waits in it, for a while: a browser that has woken a service worker for a sync ends it after some minutes, and
 * repeats the sync where something is left. No wait is shortened for it.
 */

import type { DegradedCode, QueueEvents } from '../api/events.ts'
import type { QueueContext } from '../runner/context.ts'
import type { RetryQueue } from './queue.ts'

/** A browser ends a sync by itself after 5 minutes. */
export const DRAIN_MS = 240_000
const LOOK_MS = 1_000
/** A look may fall into a turn of the store, while which nothing has a next moment. */
const QUIET_LOOKS = 3
/** A page that has just been closed holds the lead, and what it sent last, until the browser has ended it; one that is open sends by itself. */
const LOOKS_FOR_OTHERS = 10
/** After these a queue is idle because it cannot see its tasks, not because there are none. */
const BLIND: ReadonlySet<DegradedCode> = new Set([
  'core_unreachable',
  'wasm_refused',
  'options_refused',
  'storage_unavailable',
])

export interface Drain {
  /** Why the queue cannot see its tasks, in words; undefined: it can. */
  blindness(): string | undefined
  /** Whether nothing waits any more. Resolves once that is so, nothing more is due before its end, or `drainMs` are over. */
  run(drainMs: number): Promise<boolean>
  /** Ends the listening. */
  stop(): void
}

export function drainOf(queue: RetryQueue, host: QueueContext): Drain {
  const { events, now, settings } = host
  let blindness: string | undefined
  /** The last report, which is not repeated with each run. */
  let reported: string | undefined
  const learn = ({ code, message }: QueueEvents['degraded']) => {
    if (BLIND.has(code)) reported = blindness = message
  }
  return {
    blindness: () => blindness ?? (host.sees?.() ? undefined : reported),
    stop: events.on('degraded', learn, true),
    async run(drainMs) {
      const endsAt = now() + drainMs
      blindness = undefined
      await queue.ready
      let isDrained = false
      let disarm = () => {}
      const isIdle = queue.idle().then(() => {
        isDrained = true
        disarm()
        return true
      })
      const isOver = new Promise<boolean>((resolve) => {
        let quiet = 0
        const look = async (): Promise<void> => {
          // a store that cannot be asked may be asked again
          const patience = await patienceUntil(endsAt).catch(() => Number.POSITIVE_INFINITY)
          if (isDrained) return
          quiet = patience === Number.POSITIVE_INFINITY ? 0 : quiet + 1
          if (quiet >= patience || now() >= endsAt) resolve(false)
          else disarm = settings.clock.after(LOOK_MS, look)
        }
        void look()
      })
      return Promise.race([isIdle, isOver])
    },
  }

  /** How many looks that find the same end it; none does while something is sent, or due here before `endsAt`. */
  async function patienceUntil(endsAt: number): Promise<number> {
    const { inFlight, nextAttemptAt, lacking } = queue.stats()
    if (inFlight > 0) return Number.POSITIVE_INFINITY
    if (lacking) return QUIET_LOOKS
    const { tasks, cursor } = await queue.list({ active: true })
    if (tasks.some(({ status }) => status === 'IN_FLIGHT')) return LOOKS_FOR_OTHERS
    if (nextAttemptAt !== null && nextAttemptAt >= endsAt) return QUIET_LOOKS
    // the queue may only look again then, for the end of a hold: the tasks say when they are due
    const dueAt = Math.min(...tasks.map(({ nextAttemptAt: at }) => at ?? Number.POSITIVE_INFINITY))
    if (cursor === undefined && dueAt >= endsAt) return QUIET_LOOKS
    return nextAttemptAt === null && dueAt <= now() ? LOOKS_FOR_OTHERS : Number.POSITIVE_INFINITY
  }
}
