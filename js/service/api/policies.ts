/**
 * The policies that tasks may name: presets, the default one, and those in the store's registry, which all processes share. A task takes its
 * policy along, resolved and whole, so nothing here is asked again once it is made.
 *
 * A registered policy is its tenant's, who alone can name or change it. One that is of no tenant, as the operator's are, is there for all tenants
 * that have none of their own by its name.
 *
 * The registry is looked at once a second at most, and at once where a name is not known: a policy that another process has registered can be used
 * right away, one that was changed within a second.
 */

import { type Clock, presets } from 'redrive'
import type { RetryPolicy } from 'redrive/core'
import { backgroundOf, frozenCopy, type ResolvedPolicy, resolvePolicy, show } from 'redrive/internal'
import type { Registry, RegistryEntry } from 'redrive/store'
import { POLICY_ID, POLICY_ID_WORDS } from '../shapes.ts'
import type { ApiSettings } from './context.ts'
import { inSlices } from './in-slices.ts'
import { invalid, Problem } from './problem.ts'

/** Where policies lie in the registry, by their ids; those of a tenant have a slash and its name behind. */
const POLICY_PREFIX = 'policy/'
const LOOK_MS = 1_000
/** That one tenant may register, and that may be registered for all: each process knows them all. */
const MOST_POLICIES = 100
/** The JSON of one that is registered by the API. */
const MOST_BYTES = 16_384

export const DEFAULT_POLICY = 'default'

/** A policy by its name. */
export interface NamedPolicy {
  /** The fields that were given, frozen. */
  readonly given: RetryPolicy
  readonly source: 'api' | 'operator' | 'file' | 'preset' | 'default'
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
  /** The registration under way: what is counted is written before the next counts. */
  #registering: Promise<unknown> = Promise.resolve()

  constructor(registry: Registry, clock: Clock, settings: Settings) {
    this.#registry = registry
    this.#clock = clock
    this.#settings = settings
  }

  /** The policy that a tenant has by this name. `fresh`: as it is in the registry now. */
  async get(policyId: string, tenant: string | null, fresh = false): Promise<NamedPolicy | undefined> {
    const fixed = policyId === DEFAULT_POLICY ? this.#defaultPolicy() : PRESETS.get(policyId)
    if (fixed) return fixed
    await this.look(fresh)
    if (!fresh && !this.#registered(policyId, tenant)) await this.look(true)
    return this.#registered(policyId, tenant)
  }

  /** All that a tenant has: the default one, presets, then by name. */
  async list(tenant: string | null): Promise<readonly NamedPolicy[]> {
    await this.look(true)
    const names = [...this.#known.values()].map(({ given }) => given.policyId)
    const registered = [...new Set(names)].sort().flatMap((policyId) => this.#registered(policyId, tenant) ?? [])
    return [this.#defaultPolicy(), ...PRESETS.values(), ...registered]
  }

  /** Writes a policy of a tenant, if it has the version that is expected. Throws 'policies-full' where that would be one more than it may have. */
  async write(policy: RetryPolicy, tenant: string | null, expected?: number): Promise<'written' | 'changed'> {
    const bytes = Buffer.byteLength(JSON.stringify(policy))
    if (bytes > MOST_BYTES) {
      throw new Problem(
        'invalid',
        `the policy has ${bytes} bytes as JSON, and one that is registered ${MOST_BYTES} at most: leave out delays or statuses`,
      )
    }
    const name = nameOf(policy.policyId, tenant)
    const written = this.#registering.then(async () => {
      await this.look(true)
      const own = [...this.#known.keys()].filter((known) => ownerIn(known) === tenant)
      if (!own.includes(name) && own.length >= MOST_POLICIES) {
        throw new Problem(
          'policies-full',
          `${own.length} policies are registered already: delete one that no new task is to name`,
        )
      }
      const outcome = await this.#registry.write(POLICY_PREFIX + name, policy, expected)
      await this.look(true)
      return outcome
    })
    // its caller hears of a failure; the next one begins all the same
    this.#registering = written.catch(() => {})
    return written
  }

  /** Deletes a policy of a tenant, if it has the version that is expected. */
  async delete(policyId: string, tenant: string | null, expected?: number): Promise<'written' | 'changed'> {
    const outcome = await this.#registry.write(POLICY_PREFIX + nameOf(policyId, tenant), null, expected)
    await this.look(true)
    return outcome
  }

  /** The operator's file wins over what was registered, and what is the tenant's own over what is there for all. */
  #registered(policyId: string, tenant: string | null): NamedPolicy | undefined {
    const forAll = this.#known.get(policyId)
    if (forAll && this.#settings().filePolicies?.has(policyId)) return { ...forAll, source: 'file' }
    if (tenant === null) return forAll
    return this.#known.get(nameOf(policyId, tenant)) ?? (forAll && { ...forAll, source: 'operator' })
  }

  /** The policy of a task, whole. Throws 'policy-unknown', or 'invalid' where the overlay does not go with it. */
  async resolve(
    policyId: string,
    tenant: string | null,
    overlay: Partial<RetryPolicy> | undefined,
  ): Promise<ResolvedPolicy> {
    const named = await this.get(policyId, tenant)
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
    // a store that has lost its data counts its versions anew
    if (entries) this.#known = await namedIn(entries, version < since ? new Map() : this.#known)
    this.#lookedAt = now
    this.#version = version
  }

  #defaultPolicy(): NamedPolicy {
    const { defaultPolicy } = this.#settings()
    if (this.#default && this.#given === defaultPolicy) return this.#default
    this.#given = defaultPolicy
    this.#default = { given: frozenCopy(defaultPolicy), source: 'default', version: 0 }
    return this.#default
  }
}

const nameOf = (policyId: string, tenant: string | null): string =>
  tenant === null ? policyId : `${policyId}/${tenant}`

/** Ids have no slash, tenants may have one. */
function ownerIn(name: string): string | null {
  const at = name.indexOf('/')
  return at < 0 ? null : name.slice(at + 1)
}

/** An entry is checked once: there may be large ones of many tenants, and each write of any has all read. */
async function namedIn(
  entries: readonly RegistryEntry[],
  before: ReadonlyMap<string, NamedPolicy>,
): Promise<ReadonlyMap<string, NamedPolicy>> {
  const kept = new Map<string, NamedPolicy>()
  const added: RegistryEntry[] = []
  for (const entry of entries) {
    const name = entry.name.slice(POLICY_PREFIX.length)
    const known = before.get(name)
    if (known?.version === entry.version) kept.set(name, known)
    else added.push(entry)
  }
  const checked = await inSlices(added, checkedEntry)
  return new Map([...kept, ...checked.flat()])
}

/** An entry that another version wrote, or that is damaged, is no policy here; nor is one by the name of what is always there. */
function checkedEntry({ name, value, version }: RegistryEntry): [string, NamedPolicy][] {
  try {
    const given = soundPolicy(value as RetryPolicy)
    const known = name.slice(POLICY_PREFIX.length)
    const { policyId } = given
    if (isPreset(policyId) || policyId === DEFAULT_POLICY || nameOf(policyId, ownerIn(known)) !== known) return []
    return [[known, { given, source: 'api', version }]]
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
export async function applyPolicies(registry: Registry, policies: readonly RetryPolicy[] = []): Promise<void> {
  const all = policies.map(operatorsPolicy)
  const { entries = [] } = all.length > 0 ? await registry.read({ prefix: POLICY_PREFIX }) : {}
  const known = new Map(entries.map(({ name, value }) => [name, JSON.stringify(value)]))
  for (const policy of all) {
    const name = POLICY_PREFIX + policy.policyId
    // a store that is full takes no write, and a service has to start there to make room
    if (known.get(name) !== JSON.stringify(policy)) await registry.write(name, policy)
  }
}

/** A frozen copy of a policy that an operator may give. Throws a TypeError or RangeError that names the field. */
export function operatorsPolicy(given: RetryPolicy): RetryPolicy {
  const { policyId } = given
  if (isPreset(policyId) || policyId === DEFAULT_POLICY) {
    throw new RangeError(`policies: '${policyId}' is the name of a preset; give the policy another`)
  }
  if (!POLICY_ID.test(policyId)) {
    throw new RangeError(`policies: expected a policyId of ${POLICY_ID_WORDS}, got ${show(policyId)}`)
  }
  const copy = frozenCopy(given)
  resolvePolicy(copy)
  return copy
}
