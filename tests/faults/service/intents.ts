/** The tasks that clients ask for: drawn by the seed, each known to the target by the name in its body. */

import { chance, sharedBy } from '../options.ts'
import { ATTEMPT_MS } from './options.ts'
import { SIGNINGS, type Signing } from './signing.ts'

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
  /** Absent: its end is told to no one. */
  readonly callback?: CallbackWish | undefined
}

export const ENDS = ['succeeded', 'exhausted', 'cancelled'] as const
export type End = (typeof ENDS)[number]

/** The wish of a task to have its end told. */
export interface CallbackWish {
  /** undefined: it names none, and means all. */
  readonly on: readonly End[] | undefined
  /** undefined: unsigned. */
  readonly signing: Signing | undefined
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
const KINDS: readonly (readonly [share: number, kind: Kind])[] = [
  [0.05, 'spent'],
  [0.04, 'refused'],
  [0.02, 'never'],
]

const CURVES: readonly Intent['policy'][] = [
  // a crash costs an attempt, and here there are many
  { maxAttempts: 30, strategy: 'exponential', initialDelayMs: 100, maxDelayMs: 400, jitterType: 'FULL' },
  { maxAttempts: 30, strategy: 'fixed', initialDelayMs: 600, jitterType: 'NONE' },
]
/** Share of the tasks whose end is told, and of those the ones that are unsigned. */
const CALLBACK_SHARE = 0.5
const UNSIGNED_SHARE = 0.2
const WISHES: readonly CallbackWish['on'][] = [
  ...[undefined, undefined, ['succeeded'], ['exhausted'], ['exhausted', 'cancelled']],
  ...[
    ['succeeded', 'cancelled'],
    ['succeeded', 'exhausted'],
  ],
] as const
/** Fewer than a 'spent' task needs. */
const FEW = 2

export function intentsOf(tasks: number, seed: number): readonly Intent[] {
  const random = chance(seed ^ 0x5eed)
  // of its own, so that a seed gives the tasks that it gave before there were callbacks
  const wished = chance(seed ^ 0xca11)
  const pick = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)] as T
  const intents: Intent[] = []
  for (let at = 1; at <= tasks; at++) {
    const name = `intent-${String(at).padStart(5, '0')}`
    const before = intents.at(-1)
    const isTwin = random() < TWIN_SHARE && before !== undefined && before.key === `key-${before.name}`
    const others = TENANTS.filter((tenant) => tenant !== before?.tenant)
    const tenant = pick(isTwin ? others : TENANTS)
    const kind = sharedBy(KINDS, random()) ?? 'plain'
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
      callback: wishOf(wished),
    })
  }
  return intents
}

function wishOf(random: () => number): CallbackWish | undefined {
  const [share, on, signed, which] = [random(), random(), random(), random()]
  if (share >= CALLBACK_SHARE) return undefined
  return {
    on: WISHES[Math.floor(on * WISHES.length)],
    signing: signed < UNSIGNED_SHARE ? undefined : SIGNINGS[Math.floor(which * SIGNINGS.length)],
  }
}

/** Where tasks are sent, and where their ends are told. */
export interface Addresses {
  readonly targets: readonly string[]
  readonly hooks: string
}

/** The URL at which the end of an intent's task is told. */
export const hookOf = ({ name }: Intent, hooks: string): string => `${hooks}/${name}`

/** The Task in that a client posts. `body`: what the target gets, the intent's own unless another is tried under its key. */
export function taskIn(intent: Intent, { targets, hooks }: Addresses, body: object = { intent: intent.name }): object {
  const { tenant, origin, orderKey, delayMs, policy, callback } = intent
  const { on, signing } = callback ?? {}
  const told = { url: hookOf(intent, hooks), ...(on && { on }), ...(signing && { signing }) }
  return {
    targetUrl: `${targets[origin]}/work`,
    method: 'POST',
    json: { ...body, tenant },
    policy,
    ...(delayMs > 0 && { delayMs }),
    ...(orderKey !== undefined && { orderKey }),
    ...(callback && { callback: told }),
  }
}
