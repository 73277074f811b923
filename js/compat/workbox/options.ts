/** The options of Workbox's queue, and our settings that they come to. */

import { check, flag, fn, follow, int, MAX_MS, num, object, pattern, type Rules } from '../../options/check.ts'
import type { RetryQueueOptions } from '../../options/queue-options.ts'
import { DRAIN_MS } from '../../queue/drain.ts'

/**
 * The options of the `RetryQueue` behind the queue. Other defaults than there: `principal` null, `concurrency` 1, `maxBodyBytes` 50 MiB,
 * `allowMemory` true unless there is an `onSync`, `sanitize.persistHeaders` every name, and `policy.keyTtlMs` the time for which a request is kept.
 */
export interface RedriveOptions extends Omit<RetryQueueOptions, 'name' | 'durable'> {
  /** How long one replay may work, in ms, before what is left is handed back to the browser. 1,000 to 300,000. @default 240_000 */
  readonly drainMs?: number
}

export interface PlainOptions {
  /** How long a request is kept, in minutes from its `timestamp`. After that it is sent no more. @default 10_080 (7 days) */
  readonly maxRetentionTime?: number
  /** Does without Background Sync, also where the browser has it. @default false */
  readonly forceSyncFallback?: boolean
  /** For all that Workbox has no option for: `credentials`, `sanitize`, `policy`, `idempotency` and all else that a `RetryQueue` takes. @default `{}` */
  readonly redrive?: RedriveOptions
}

const NAME = pattern('a name', /^[^\0\p{Surrogate}]+$/u)
/** `onSync` is the queue's own affair: it is called with the queue. */
type Given = PlainOptions & { readonly onSync?: unknown }

const RULES: Rules<Given> = {
  onSync: fn,
  maxRetentionTime: num(0, Number.POSITIVE_INFINITY),
  forceSyncFallback: flag,
  redrive: object,
}
const DRAIN = int(1_000, 300_000)

const WEEK_MINUTES = 10_080
/** Every name that begins with a letter. Workbox keeps all headers, and the built-in list of what carries a credential goes first. */
const EVERY_HEADER: readonly string[] = [...'abcdefghijklmnopqrstuvwxyz'].map((letter) => `${letter}*`)
/** No more has room within `capacityBytes`. */
const MAX_BODY_BYTES = 50 * 2 ** 20

/** The lifetime of the key of a request that is kept for so long: a little more, so that it ends because it has expired. */
export const lifetimeOf = (retentionMs: number): number => Math.min(retentionMs + 1, MAX_MS)

export interface Settings {
  readonly retentionMs: number
  readonly drainMs: number
  readonly queue: RetryQueueOptions
}

export function checkOptions(name: string, options: Given): void {
  follow('Queue.name', name, NAME)
  check('Queue', options, RULES)
  if (options.redrive?.drainMs !== undefined) follow('Queue.redrive.drainMs', options.redrive.drainMs, DRAIN)
}

/**
 * The defaults are as near to Workbox as they can be: one request at a time, oldest first; no page needs to have said who is there; headers are
 * kept unless they may carry a credential. A request lives for as long as Workbox kept it, so its key is taken to be known that long.
 */
export function settingsFor(name: string, { onSync, maxRetentionTime, redrive = {} }: Given): Settings {
  const { drainMs = DRAIN_MS, policy, sanitize, ...given } = redrive
  // Workbox, too, takes 0 for its default
  const retentionMs = Math.min(Math.round((maxRetentionTime || WEEK_MINUTES) * 60_000), MAX_MS)
  return {
    retentionMs,
    drainMs,
    queue: {
      principal: null,
      concurrency: 1,
      maxBodyBytes: MAX_BODY_BYTES,
      // with an `onSync` of its own, what is not stored could not be shifted
      allowMemory: onSync === undefined,
      ...given,
      policy: { keyTtlMs: lifetimeOf(retentionMs), ...policy },
      sanitize: { persistHeaders: EVERY_HEADER, ...sanitize },
      name,
      durable: true,
    },
  }
}
