/**
 * Every check of what users give to a queue, and every remark on it, as one object. A page's production bundle gets it with the core's
 * chunk, and holds what it was given before against it then; every other entry has it from the start, and throws where the mistake is
 * written.
 */

import { EVENTS } from '../api/events.ts'
import type { SubscribeOptions, SwitchOptions } from '../api/methods.ts'
import { assertFilesRead } from '../platform/unread-file.ts'
import { check, flag, fn, follow, ms, object, oneOf, origin, type Rules } from './check.ts'
import { meant } from './meant.ts'
import type { PolicyPair } from './policy.ts'
import type { RetryQueueOptions, Settings } from './queue-options.ts'
import { AT_A_TIME, checkQueue, NAMED, PRINCIPAL } from './queue-rules.ts'
import { type Reporting, remarkPassing, remarkPlain, type SentOnce } from './remarks.ts'
import type { TaskOptions } from './task-options.ts'
import { checkBeside, checkInit, checkTask } from './task-rules.ts'

/** The parts of a queue that may be set beside its options, as they are now. */
export interface ToldSince {
  readonly principal: string | null
  readonly settings: Pick<Settings, 'concurrency' | 'concurrencyPerOrigin' | 'durable'>
}

/** The arguments of a call that may have been made before the checks had come, as far as they are left. */
export interface EarlyCall {
  readonly isChecked: boolean
  readonly options: TaskOptions
  /** That of a call by fetch has what was given beside them. */
  readonly transport: object
}

/** The part of a queue that the options of a call are held against. */
export interface WithPolicies {
  readonly settings: Pick<Settings, 'policies'>
}

/** Each check throws a TypeError where the kind is wrong, and a RangeError where the value is. */
export interface Checks {
  /** The options of a queue. `since`: what it was given before the checks came. */
  queue(given: RetryQueueOptions, since?: ToldSince): void
  /** The options of a call. `policies`: those of the queue by their names; absent for a part of the options. */
  call(given: TaskOptions, policies?: ReadonlyMap<string, PolicyPair>): void
  /** A call that may have been made before the checks came: of those alone that come late. */
  early?(call: EarlyCall, host: WithPolicies): void
  /** The init of `fetch`, and that there is one to send by. */
  init(init: RequestInit | undefined, queue: Pick<RetryQueueOptions, 'fetch'>): void
  /** A body that could not be read. */
  unread(body: unknown, cause: unknown): Promise<void>
  /** An object that has a call's options inside, and none of them beside it. */
  beside(init: object): void
  listener(event: string, listener: unknown): void
  /** The `match` of a `fetch`. */
  match(match: unknown): void
  subscribe(listener: unknown, options: SubscribeOptions): void
  principal(principal: string | null, options: SwitchOptions, durable: boolean): void
  /** The scope of `pause` or `resume`. */
  scope(method: string, scope: { readonly origin: string } | undefined): void
  close(options: { readonly drainMs?: number }): void
  limit(name: string, most: number): void
  /** Remarks on a call that is sent once. */
  plain(call: SentOnce & EarlyCall, host: Reporting & WithPolicies): void
  /** Remarks on a request that passes through. */
  passing(trait: string, reporting: Reporting): void
}

const CLOSE_RULES = { drainMs: ms() }
const SUBSCRIBE_RULES: Rules<SubscribeOptions> = { scope: oneOf('queue', 'store') }
const SWITCH_RULES: Rules<SwitchOptions> = { purge: flag, during: fn }

export const CHECKS: Checks = {
  queue: checkQueue,
  call: checkTask,
  init: checkInit,
  unread: assertFilesRead,
  beside: checkBeside,

  listener(event, listener) {
    const names: readonly string[] = EVENTS
    if (!names.includes(event)) throw new TypeError(`on('${event}'): no such event; ${meant(`${event}`, names)}`)
    follow(`on('${event}')`, listener, fn)
  },

  match: (match) => check('redrive', { match }, { match: fn }),

  subscribe(listener, options) {
    follow('subscribe', listener, fn)
    check('subscribe', options, SUBSCRIBE_RULES)
  },

  principal(principal, options, durable) {
    follow('setPrincipal', principal, durable ? NAMED : PRINCIPAL)
    check('setPrincipal', options, SWITCH_RULES)
  },

  scope(method, scope) {
    if (scope === undefined) return
    follow(method, scope, object)
    follow(`${method}.origin`, scope.origin, origin)
  },

  close: (options) => check('close', options, CLOSE_RULES),
  limit: (name, most) => follow(name, most, AT_A_TIME),
  plain: remarkPlain,
  passing: remarkPassing,
}
