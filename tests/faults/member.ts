/**
 * One queue process: a real queue on a real file, told by its parent what to enqueue. It knows nothing of being killed.
 *
 *   node member.ts '{"life":"2.7","url":"http://127.0.0.1:1234","folder":"...","seed":5}'
 */

import { builtPackage, storeFile } from './built.ts'
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

const POLICY = {
  // a crash costs an attempt, and here there are many
  maxAttempts: 30,
  initialDelayMs: 100,
  maxDelayMs: 400,
  attemptTimeoutMs: 10_000,
} as const

async function main(options: MemberOptions): Promise<void> {
  const { life, url, folder, seed, breaks, concurrency, isAsUsed = false } = options
  const { RetryQueue, sqliteStore } = await builtPackage()
  const real = sqliteStore({ path: storeFile(folder), ...(isAsUsed ? {} : { idleCheckMs: 100 }) })
  const { store, tokenOf, aim } = watchedStore(real, { file: logFile(folder, life), breaks, ownLeases: isAsUsed })
  const send: typeof fetch = (input, init) => {
    const headers = new Headers(init?.headers)
    headers.set('x-attempt', `${life} ${tokenOf(headers.get('idempotency-key') ?? '') ?? ''} ${Date.now()}`)
    return fetch(input, { ...init, headers })
  }
  const queue = new RetryQueue({
    // it is told to do what gates are there to prevent
    breaker: false,
    retryBudget: false,
    store,
    principal: null,
    concurrency,
    capacity: 1_000_000,
    // nothing may be forgotten before it is judged
    retention: { maxTerminal: 1_000_000, maxDeadLetters: 1_000_000 },
    policy: POLICY,
    fetch: send,
    seed: BigInt(seed),
  })
  queue.on('degraded', ({ code, message }) => tell({ what: 'degraded', message: `${code}: ${message}` }))

  process.on('message', async (asked: Order | Aimed) => {
    if ('aimedAt' in asked) return aim(asked.aimedAt)
    const { intent, key } = asked
    try {
      const { taskId, durability } = await queue.enqueue(`${url}/api/orders?via=enqueue`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ intent }),
        ...(key === undefined ? {} : { redrive: { idempotencyKey: key } }),
      })
      tell({ what: 'accepted', intent, taskId, durability })
    } catch (error) {
      tell({ what: 'refused', intent, message: String(error) })
    }
  })
  whenParentGoes(() => void queue.close().then(() => process.exit(0)))
  await queue.ready
  tell({ what: 'ready' })
}

const tell = (told: Told): void => tellParent(told)

await main(JSON.parse(process.argv[2] ?? '{}'))
