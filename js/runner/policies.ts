/** Policies as the core knows them: by handle. Named ones stay with it; a call's own goes with its last task. */

import type { CoreQueue } from '../core/generated/queue/glue.js'
import { policyFields } from '../core/policy-row.ts'
import type { ResolvedPolicy } from '../options/policy.ts'
import type { QueueContext } from './context.ts'

export class Policies {
  readonly #core: CoreQueue
  readonly #host: QueueContext
  readonly #pinned = new Map<ResolvedPolicy, number>()

  constructor(core: CoreQueue, host: QueueContext) {
    this.#core = core
    this.#host = host
  }

  with<T>(policy: ResolvedPolicy, use: (handle: number) => T): T {
    const pinned = this.#pinned.get(policy)
    if (pinned !== undefined) return use(pinned)
    const handle = this.#core.policy(policyFields(policy))
    if (this.#host.settings.policies.get(policy.policyId) === policy) {
      this.#pinned.set(policy, handle)
      return use(handle)
    }
    try {
      return use(handle)
    } finally {
      // a task that was admitted holds its own reference
      this.#core.releasePolicy(handle)
    }
  }
}
