/** Translates what the queue knows by name into what the core knows by number: orders, policies, a request's flags. */

import type { Call } from '../call/call.ts'
import type { Admitted, Calls } from '../core/calls.ts'
import {
  FLAG_CREDENTIALED,
  FLAG_KEYED,
  FLAG_REPLAYABLE,
  OP_DROP_ORDER,
  OP_HAND_OVER,
  OP_OPEN_ORDER,
  OP_RELEASE_POLICY,
} from '../core/codes.ts'
import { policyFields } from '../core/policy-row.ts'
import { handedOver } from '../options/background.ts'
import type { FirstPolicy } from '../options/first-policy.ts'
import { policyDefaults } from '../options/policy.ts'
import type { QueueContext } from './context.ts'
import { giverFor } from './credentials.ts'
import type { Lanes } from './lanes.ts'
import type { Terms } from './stored.ts'

/** Past this many, orders that have no task left are forgotten. */
const SWEEP_AT = 256

/** Numbers of orders, by their keys. The core keeps the tasks of an order in line. */
export class Orders {
  readonly #core: Calls
  /** By principal, then by key: no task waits for another user's, which may wait for that user. */
  readonly #byKey = new Map<string | null, Map<string, number>>()
  #size = 0
  #sweepAt = SWEEP_AT

  constructor(core: Calls) {
    this.#core = core
  }

  of(principal: string | null, key: string): number {
    const known = this.#byKey.get(principal)?.get(key)
    if (known !== undefined) return known
    if (this.#size >= this.#sweepAt) this.#sweep()
    const order = this.#core.call(OP_OPEN_ORDER)
    const own = this.#byKey.get(principal) ?? new Map<string, number>()
    this.#byKey.set(principal, own.set(key, order))
    this.#size++
    return order
  }

  #sweep(): void {
    for (const [principal, own] of this.#byKey) {
      for (const [key, order] of own) {
        if (this.#core.call(OP_DROP_ORDER, order) && own.delete(key)) this.#size--
      }
      if (own.size === 0) this.#byKey.delete(principal)
    }
    // when most are in use, look again only after as many more
    this.#sweepAt = Math.max(SWEEP_AT, this.#size * 2)
  }
}

/** Handles of policies. Those of the queue's options stay with the core; a call's own goes with its last task. */
export class Policies {
  readonly #core: Calls
  readonly #host: QueueContext
  readonly #pinned = new Map<FirstPolicy, number>()

  constructor(core: Calls, host: QueueContext) {
    this.#core = core
    this.#host = host
  }

  /** Puts a call, and the task in `slot` that it has become, under the policy of the background. */
  handOver(call: Call, slot: number): void {
    call.policy = handedOver(call)
    if (slot >= 0) this.with(call.policy, (policy) => this.#core.call(OP_HAND_OVER, slot, policy))
  }

  with<T>(policy: FirstPolicy, use: (handle: number) => T): T {
    const pinned = this.#pinned.get(policy)
    if (pinned !== undefined) return use(pinned)
    const handle = this.#core.policy(policyFields({ ...policyDefaults, ...policy }))
    const own = this.#host.settings.policies.get(policy.policyId)
    if (own && (policy === own.policy || policy === handedOver(own))) {
      this.#pinned.set(policy, handle)
      return use(handle)
    }
    try {
      return use(handle)
    } finally {
      // a task that was admitted holds its own reference
      this.#core.call(OP_RELEASE_POLICY, handle)
    }
  }
}

/** The flags of a request. */
export function flagsOf(call: Call, { settings }: QueueContext): number {
  const { replayable, key } = call
  return (
    (replayable ? FLAG_REPLAYABLE : 0) |
    (key === null ? 0 : FLAG_KEYED) |
    (giverFor(settings, call) ? FLAG_CREDENTIALED : 0)
  )
}

/** A call as the core is asked about it. `startedAt`: when an attempt of it began that has just ended; NaN: none has. */
export function askedOf(
  { host, lanes }: { readonly host: QueueContext; readonly lanes: Lanes },
  call: Call,
  { createdAt, expiresAt, waitUntil }: Terms,
  policy: number,
  startedAt: number,
): Admitted {
  const { principal, origin, bytes, options } = call
  const { priority = 0 } = options
  const lane = lanes.of(principal, origin)
  const flags = flagsOf(call, host)
  return { now: host.now(), lane, policy, priority, bytes, flags, createdAt, expiresAt, waitUntil, startedAt }
}
