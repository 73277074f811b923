/** redrive/internal in Node: what `@redrive/service` uses as well. It is as unstable as the rest. */

import type { StoredTask } from './api/store.ts'
import type { RetryTask } from './api/task.ts'
import type { Sanitized, Sanitizer as Whole } from './core/sanitizer.ts'
import { showRecord as shown } from './durable/record.ts'
import type { OwnSending } from './options/own-sending.ts'
import { internalsOf } from './queue/internals.ts'

export { principalIn } from './api/records.ts'
export { LOG_LENGTH } from './api/store.ts'
export { REDIRECT } from './call/redirects.ts'
export { loadCore } from './core/files.ts'
export { CIRCUITS, REASONS, STRATEGIES } from './core/generated/codes.ts'
export { REDACTED } from './core/sanitizer.ts'
export * from './internal.ts'
export { type BackgroundPolicy, backgroundOf } from './options/background.ts'
export {
  check,
  flag,
  fn,
  isWellFormed,
  kind,
  list,
  MAX_MS,
  ms,
  object,
  options,
  origin,
  pattern,
  text,
} from './options/check.ts'
export { bodyMs } from './options/first-policy.ts'
export { meant } from './options/meant.ts'
export type { OwnSending, UnmadeError } from './options/own-sending.ts'
export type { ResolvedPolicy } from './options/policy.ts'
export { isOfCurve } from './options/policy-rules.ts'
export { FOREVER, within } from './platform/clock.ts'
export { frozenCopy } from './platform/json.ts'
export { type Draw, hostDraw, random128, uuid4 } from './platform/random.ts'
export { utf8 } from './platform/utf8.ts'
export { timeOfId, uuid7Maker } from './platform/uuid7.ts'
export { limitFor, limitsIn } from './stores/engine/limits.ts'
export { mostOfPrincipal } from './stores/engine/places.ts'
export { deadlineOf } from './stores/engine/rules.ts'
export { pausedBy } from './stores/shared-settings.ts'

/** The queue of a service, which sends the tasks of others. */
export interface SendingForAll {
  /** The life of a lease that is renewed while its attempt runs, in milliseconds. */
  readonly leaseMs: number
  /** The way in which one stored task is sent. */
  readonly sendingOf: (record: StoredTask) => OwnSending
  /** The calls that have parked tasks go on, in words. */
  readonly unparkedBy: string
}

/** Makes `queue` send each task in that task's own way. Before the queue has begun. */
export function sendForAll(queue: object, { leaseMs, sendingOf, unparkedBy }: SendingForAll): void {
  const { host } = internalsOf(queue)
  host.settings.leaseMs = leaseMs
  host.settings.sendingOf = sendingOf
  host.unparkedBy = unparkedBy
}

/** Removes from a request what must not be stored or shown. */
export interface Sanitizer {
  headers(given: Iterable<readonly [string, string]>): Sanitized
  /** Whether no header is left out. */
  mayBeStored(headers: Readonly<Record<string, string>>): boolean
  /** The address as it may be shown. */
  url(url: string): string
  /** The address without its secrets, to be sent. */
  strip(url: string): string
  /** The text of an error. */
  message(error: unknown): string
}

/** That of `queue`; undefined until its core is there. */
export const sanitizerOf = (queue: object): Sanitizer | undefined => internalsOf(queue).host.sanitizer

/** A stored task as its users see it. `sanitizer`: one that `sanitizerOf` has given. */
export const showRecord = (record: StoredTask, sanitizer: Sanitizer): RetryTask => shown(record, sanitizer as Whole)
