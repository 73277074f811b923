/** A process with a real queue on a real store, told by its parent what to do. It knows nothing of being killed. */

import type { TaskStore } from '../../js/api/store.ts'
import type { RetryQueue, RetryQueueOptions } from '../../js/index.ts'
import { logFile } from './log.ts'
import type { Break } from './options.ts'
import { tellParent, whenParentGoes } from './parent.ts'
import { type Moment, watchedStore } from './watched-store.ts'

export interface MemberOptions {
  readonly life: string
  readonly url: string
  readonly folder: string
  readonly seed: number
  readonly breaks?: Break | undefined
  /** In flight over all processes. */
  readonly concurrency: number
  /** As users have it: leases and looks at others' work are not made shorter for the run. */
  readonly isAsUsed?: boolean
}

/** What the parent asks. `key`: the caller's own. */
export interface Order {
  readonly intent: string
  readonly key: string | undefined
}

/** Where it is to be killed. */
export interface Aimed {
  readonly aimedAt: Moment
}

export type Told =
  | { readonly what: 'ready' }
  | { readonly what: 'accepted'; readonly intent: string; readonly taskId: string; readonly durability: string }
  | { readonly what: 'refused'; readonly intent: string; readonly message: string; readonly code?: string }
  | { readonly what: 'degraded'; readonly message: string }

export const MAX_ATTEMPTS = 30

export interface Member<O> {
  readonly options: Omit<MemberOptions, 'breaks'>
  readonly Queue: new (options: RetryQueueOptions) => RetryQueue
  readonly store: TaskStore
  readonly breaks: Break | undefined
  readonly limits: Pick<RetryQueueOptions, 'concurrencyPerOrigin'>
  /** Does what was asked for; what it gives is told as a receipt. */
  take(queue: RetryQueue, order: O): Promise<{ readonly taskId: string; readonly durability: string }>
}

export async function queueProcess<O extends Order>(member: Member<O>): Promise<void> {
  const { life, folder, seed, concurrency, isAsUsed = false } = member.options
  const file = logFile(folder, life)
  const { store, tokenOf, aim } = watchedStore(member.store, { file, breaks: member.breaks, ownLeases: isAsUsed })
  const send: typeof fetch = (input, init) => {
    const headers = new Headers(init?.headers)
    headers.set('x-attempt', `${life} ${tokenOf(headers.get('idempotency-key') ?? '') ?? ''} ${Date.now()}`)
    return fetch(input, { ...init, headers })
  }
  const queue = new member.Queue({
    // it is told to do what gates are there to prevent
    breaker: false,
    retryBudget: false,
    store,
    principal: null,
    concurrency,
    ...member.limits,
    capacity: 1_000_000,
    // nothing may be forgotten before it is judged
    retention: { maxTerminal: 1_000_000, maxDeadLetters: 1_000_000 },
    // a crash costs an attempt, and here there are many
    policy: {
      policyId: 'default',
      maxAttempts: MAX_ATTEMPTS,
      initialDelayMs: 100,
      maxDelayMs: 400,
      attemptTimeoutMs: 10_000,
    },
    fetch: send,
    seed: BigInt(seed),
  })
  queue.on('degraded', ({ code, message }) => tell({ what: 'degraded', message: `${code}: ${message}` }))

  process.on('message', async (asked: O | Aimed) => {
    if ('aimedAt' in asked) return aim(asked.aimedAt)
    const { intent } = asked
    try {
      const { taskId, durability } = await member.take(queue, asked)
      tell({ what: 'accepted', intent, taskId, durability })
    } catch (error) {
      const { code } = error as { readonly code?: string }
      const message = error instanceof Error && error.cause ? `${error} (${error.cause})` : String(error)
      tell({ what: 'refused', intent, message, ...(code !== undefined && { code }) })
    }
  })
  whenParentGoes(() => void queue.close().then(() => process.exit(0)))
  await queue.ready
  tell({ what: 'ready' })
}

const tell = (told: Told): void => tellParent(told)
