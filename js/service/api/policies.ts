/**
 * The policies that tasks may name: presets, the default one, and those in the store's registry, which all processes share. A task takes its
 * policy along, resolved and whole, so nothing here is asked again once it is made.
 *
 * The registry is looked at once a second at most, and at once where a name is not known: a policy that another process has registered can be used
 * right away, one that was changed within a second.
 */

import type { RetryPolicy } from '../../api/policy.ts'
import type { Registry, RegistryEntry } from '../../api/store.ts'
import { backgroundOf } from '../../options/background.ts'
import type { ResolvedPolicy } from '../../options/policy.ts'
import { resolvePolicy } from '../../options/policy-rules.ts'
import { presets } from '../../options/presets.ts'
import type { Clock } from '../../platform/clock.ts'
import { frozenCopy } from '../../platform/json.ts'
import type { ApiSettings } from './context.ts'
import { invalid, Problem } from './problem.ts'

/** Where policies lie in the registry. */
export const POLICY_PREFIX = 'policy/'
const LOOK_MS = 1_000

export const DEFAULT_POLICY = 'default'

/** A policy by its name. */
export interface NamedPolicy {
  /** The fields that were given, frozen. */
  readonly given: RetryPolicy
  readonly source: 'api' | 'file' | 'preset' | 'default'
  /** The version of its entry in the registry; 0: it has none. */
  readonly version: number
}

const PRESETS: ReadonlyMap<string, NamedPolicy> = new Map(
  Object.values(presets).map((given) => [given.policyId, { given: frozenCopy(given), source: 'preset', version: 0 }]),
)

export const isPreset = (policyId: string): boolean => PRESETS.has(policyId)

type Settings = () => Pick<ApiSettings, 'attemptTimeoutMs' | 'defaultPolicy' | 'filePolicies'>

export class Policies {
  readonly #registry: Registry
  readonly #clock: Clock
  readonly #settings: Settings
  #known: ReadonlyMap<string, NamedPolicy> = new Map()
  #version = 0
  #lookedAt = Number.NEGATIVE_INFINITY
  #looking: Promise<void> | undefined
  #default: NamedPolicy | undefined
  #given: RetryPolicy | undefined
  readonly #limitedOf = new WeakMap<ResolvedPolicy, ResolvedPolicy>()

  constructor(registry: Registry, clock: Clock, settings: Settings) {
    this.#registry = registry
    this.#clock = clock
    this.#settings = settings
  }

  /** The policy of this name. `fresh`: as it is in the registry now. */
  async get(policyId: string, fresh = false): Promise<NamedPolicy | undefined> {
    const fixed = policyId === DEFAULT_POLICY ? this.#defaultPolicy() : PRESETS.get(policyId)
    if (fixed) return fixed
    await this.look(fresh)
    if (!fresh && !this.#known.has(policyId)) await this.look(true)
    const found = this.#known.get(policyId)
    return found && { ...found, source: this.#settings().filePolicies?.has(policyId) ? 'file' : 'api' }
  }

  /** All of them: the default one, presets, then by name. */
  async list(): Promise<readonly NamedPolicy[]> {
    await this.look(true)
    const names = [...this.#known.keys()]
      .filter((policyId) => !isPreset(policyId) && policyId !== DEFAULT_POLICY)
      .sort()
    const registered = await Promise.all(names.map((policyId) => this.get(policyId)))
    return [this.#defaultPolicy(), ...PRESETS.values(), ...registered.filter((policy) => policy !== undefined)]
  }

  /** The policy of a task, whole. Throws 'policy-unknown', or 'invalid' where the overlay does not go with it. */
  async resolve(policyId: string, overlay: Partial<RetryPolicy> | undefined): Promise<ResolvedPolicy> {
    const named = await this.get(policyId)
    if (!named) {
      throw new Problem(
        'policy-unknown',
        `there is no policy '${policyId}': register it with POST /retry-policies, or name another`,
      )
    }
    const given = overlay ? soundPolicy({ ...named.given, ...overlay }, 'policy') : named.given
    return this.#limited(backgroundOf({ given }))
  }

  /** The policy with the service's time limit where it has none: the same object for all tasks of a policy, which is then looked at once. */
  #limited(policy: ResolvedPolicy): ResolvedPolicy {
    const { attemptTimeoutMs } = this.#settings()
    if (attemptTimeoutMs === undefined || policy.attemptTimeoutMs !== undefined) return policy
    const known = this.#limitedOf.get(policy)
    if (known?.attemptTimeoutMs === attemptTimeoutMs) return known
    const limited = Object.freeze({ ...policy, attemptTimeoutMs })
    this.#limitedOf.set(policy, limited)
    return limited
  }

  /** Looks at the registry, if that was not done within a second. */
  async look(fresh: boolean): Promise<void> {
    const now = this.#clock.monotonic()
    if (!fresh && now - this.#lookedAt < LOOK_MS) return
    // one that is under way may have begun before what `fresh` is to see was written
    if (fresh) await this.#looking?.catch(() => {})
    this.#looking ??= this.#read(now).finally(() => {
      this.#looking = undefined
    })
    return this.#looking
  }

  async #read(now: number): Promise<void> {
    const since = this.#version
    const { version, entries } = await this.#registry.read({ prefix: POLICY_PREFIX, ...(since > 0 && { since }) })
    this.#lookedAt = now
    this.#version = version
    if (entries) this.#known = new Map(entries.flatMap(namedIn))
  }

  #defaultPolicy(): NamedPolicy {
    const { defaultPolicy } = this.#settings()
    if (this.#default && this.#given === defaultPolicy) return this.#default
    this.#given = defaultPolicy
    this.#default = { given: frozenCopy(defaultPolicy), source: 'default', version: 0 }
    return this.#default
  }
}

/** An entry that another version wrote, or that is damaged, is no policy here. */
function namedIn({ name, value, version }: RegistryEntry): [string, NamedPolicy][] {
  try {
    const given = soundPolicy(value as RetryPolicy)
    const policyId = name.slice(POLICY_PREFIX.length)
    return given.policyId === policyId ? [[policyId, { given, source: 'api', version }]] : []
  } catch {
    return []
  }
}

/** A frozen copy of a policy whose fields go together. Throws 'invalid'. `at`: where it stands in the body. */
export function soundPolicy<P extends Partial<RetryPolicy>>(given: P, ...at: readonly string[]): P {
  const copy = frozenCopy(given)
  try {
    resolvePolicy(copy)
  } catch (error) {
    const { message } = error as Error
    const [, field = ''] = /^policy\.(\w+)/.exec(message) ?? []
    throw invalid(message, ...at, ...(field === '' ? [] : [field]))
  }
  return copy
}

/** Writes the policies of an operator's file where they differ, whatever is there. */
export async function applyPolicies(registry: Registry, policies: readonly RetryPolicy[]): Promise<void> {
  for (const policy of policies) {
    if (isPreset(policy.policyId) || policy.policyId === DEFAULT_POLICY) {
      throw new RangeError(`policies: '${policy.policyId}' is the name of a preset; give the policy another`)
    }
    await registry.write(POLICY_PREFIX + policy.policyId, soundPolicy(policy))
  }
}
