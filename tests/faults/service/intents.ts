/** The tasks that clients ask for: drawn by the seed, each known to the target by the name in its body. */

import { chance } from '../options.ts'
import { ATTEMPT_MS } from './options.ts'

/**
 * The way that a target treats a task on top of its common faults. 'spent': it fails more often than the policy has attempts, and works once it is
 * put back. 'refused': it gets a 4xx first, and works once it is put back. 'never': it gets a 4xx whatever happens.
 */
export type Kind = 'plain' | 'spent' | 'refused' | 'never'

export interface Intent {
  readonly name: string
  /** null: of no tenant. */
  readonly tenant: string | null
  /** The Idempotency-Key. Those of two tenants may be the same. */
  readonly key: string
  /** Which of the target's origins. */
  readonly origin: number
  readonly orderKey: string | undefined
  readonly kind: Kind
  readonly delayMs: number
  readonly policy: { readonly maxAttempts: number; readonly [field: string]: unknown }
}

export const ORIGINS = 2
const TENANTS: readonly (string | null)[] = [null, 'acme', 'bravo']
const ORDERS = 4
const ORDERED_SHARE = 0.15
const DELAYED_SHARE = 0.1
const DELAY_MS = 1_500
/** Share of the tasks that have the key of the one before them, which is another tenant's. */
const TWIN_SHARE = 0.05
/** Shares of kinds; the rest is plain. */
const KINDS: readonly (readonly [kind: Kind, share: number])[] = [
  ['spent', 0.05],
  ['refused', 0.04],
  ['never', 0.02],
]

const CURVES: readonly Intent['policy'][] = [
  // a crash costs an attempt, and here there are many
  { maxAttempts: 30, strategy: 'exponential', initialDelayMs: 100, maxDelayMs: 400, jitterType: 'FULL' },
  { maxAttempts: 30, strategy: 'fixed', initialDelayMs: 600, jitterType: 'NONE' },
]
/** Fewer than a 'spent' task needs. */
const FEW = 2

export function intentsOf(tasks: number, seed: number): readonly Intent[] {
  const random = chance(seed ^ 0x5eed)
  const pick = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)] as T
  const intents: Intent[] = []
  for (let at = 1; at <= tasks; at++) {
    const name = `intent-${String(at).padStart(5, '0')}`
    const before = intents.at(-1)
    const isTwin = random() < TWIN_SHARE && before !== undefined && before.key === `key-${before.name}`
    const others = TENANTS.filter((tenant) => tenant !== before?.tenant)
    const tenant = pick(isTwin ? others : TENANTS)
    const kind = kindAt(random())
    const curve = pick(CURVES)
    const draw = random()
    const isOrdered = kind === 'plain' && draw < ORDERED_SHARE
    intents.push({
      name,
      tenant,
      key: isTwin ? before.key : `key-${name}`,
      origin: Math.floor(random() * ORIGINS),
      orderKey: isOrdered ? `order-${Math.floor(random() * ORDERS)}` : undefined,
      kind,
      delayMs: draw > 1 - DELAYED_SHARE ? DELAY_MS : 0,
      policy: { ...curve, attemptTimeoutMs: ATTEMPT_MS, ...(kind === 'spent' && { maxAttempts: FEW }) },
    })
  }
  return intents
}

function kindAt(draw: number): Kind {
  let left = draw
  for (const [kind, share] of KINDS) {
    left -= share
    if (left < 0) return kind
  }
  return 'plain'
}

/** The Task in that a client posts. `body`: what the target gets, the intent's own unless another is tried under its key. */
export function taskIn(intent: Intent, urls: readonly string[], body: object = { intent: intent.name }): object {
  const { tenant, origin, orderKey, delayMs, policy } = intent
  return {
    targetUrl: `${urls[origin]}/work`,
    method: 'POST',
    json: { ...body, tenant },
    policy,
    ...(delayMs > 0 && { delayMs }),
    ...(orderKey !== undefined && { orderKey }),
  }
}
