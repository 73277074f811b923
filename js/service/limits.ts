/**
 * Limits of single targets and tenants. The store holds them over all processes: this says them in its words, with the share of each
 * partition.
 */

import { check, int, limitsIn, list, object, oneOf, pattern, type Rules } from 'redrive/internal'
import type { Claim, OriginLimit, Quota } from 'redrive/store'
import type { ApiToken } from './api/context.ts'
import { hasSeveralTenants } from './api/tokens.ts'
import { namesOf } from './named.ts'
import { type PartitionBy, shareOf } from './partitions.ts'
import { TENANT_SHAPE } from './shapes.ts'
import { parsePattern } from './targets.ts'

/** A limit of one target. At least one of `concurrency` and `perSecond` is given. */
export interface LimitOptions {
  /** Most attempts in flight, within `concurrencyPerOrigin`. 1 to 1,000,000. */
  readonly concurrency?: number
  /** Attempts that begin in a second; fractions are allowed. 1 a day to 1,000,000. */
  readonly perSecond?: number
  /** Attempts that may begin at once after a rest. 1 to 1,000,000. @default 1 */
  readonly burst?: number
  /** 'origin': all tenants together, as the target sees them. 'tenant': each by itself. @default 'origin' */
  readonly sharedBy?: 'origin' | 'tenant'
}

/** By origin: `https://api.example.com`, or `https://*.example.com` for the hosts below it. The most exact that fits an origin holds. */
export type LimitsOptions = Readonly<Record<string, LimitOptions>>

/** The part of a service that one tenant may have. */
export interface TenantOptions {
  /** Its tasks pending, in flight or dead letters. 1 to 1,000,000. @default `tenantCapacity` */
  readonly capacity?: number
  /** Their bodies, in bytes. @default `tenantCapacityBytes` */
  readonly capacityBytes?: number
  /** The only targets of its tasks, among those of the service. @default those of the service */
  readonly targets?: readonly string[]
}

/** By tenant. */
export type TenantsOptions = Readonly<Record<string, TenantOptions>>

export interface ShareOptions {
  readonly limits?: LimitsOptions
  readonly tenants?: TenantsOptions
  /**
   * Most attempts in flight of one tenant, over all processes. 1 to 10,000. Where there may be several tenants, each also leaves places for others: one alone has at
   * most four fifths of `concurrency`, and of `concurrencyPerOrigin` at one origin. @default no other limit
   */
  readonly concurrencyPerTenant?: number
  /** Tasks of one tenant pending, in flight or dead letters. 1 to 1,000,000. @default no limit of their own */
  readonly tenantCapacity?: number
  /** Their bodies, in bytes. @default no limit of their own */
  readonly tenantCapacityBytes?: number
}

const MOST = 1_000_000

const LIMIT: Rules<LimitOptions> = {
  concurrency: int(1, MOST),
  // its bounds are the store's
  perSecond: { type: 'number', expected: 'a number' },
  burst: int(1, MOST),
  sharedBy: oneOf('origin', 'tenant'),
}

const TENANT: Rules<TenantOptions> = {
  capacity: int(1, MOST),
  capacityBytes: int(0, Number.MAX_SAFE_INTEGER),
  targets: list(pattern('a target such as https://api.example.com', /./)),
}

const OF_SERVICE: Rules<Pick<ShareOptions, 'concurrencyPerTenant' | 'tenantCapacity' | 'tenantCapacityBytes'>> = {
  concurrencyPerTenant: int(1, 10_000),
  tenantCapacity: int(1, MOST),
  tenantCapacityBytes: int(0, Number.MAX_SAFE_INTEGER),
}

/** @throws TypeError or RangeError that names the target, the key and what was expected */
export const checkLimits = (given: LimitsOptions): void => void limitsOf(given)

/** The limits in the store's words. Throws like `checkLimits`. */
export function limitsOf(given: LimitsOptions): readonly OriginLimit[] {
  check('limits', { given }, { given: object }) // a list or a text is no object of limits
  return Object.entries(given).map(([origins, limit]) => {
    const at = `limits['${origins}']`
    check(at, limit, LIMIT)
    if (limit.concurrency === undefined && limit.perSecond === undefined) {
      throw new TypeError(`${at}: expected concurrency, perSecond, or both`)
    }
    if (limit.burst !== undefined && limit.perSecond === undefined) {
      throw new TypeError(`${at}.burst: perSecond is missing, which it is a burst of`)
    }
    const { sharedBy = 'origin', ...rest } = limit
    const made: OriginLimit = { origins, ...rest, sharedBy: sharedBy === 'tenant' ? 'lane' : 'origin' }
    try {
      limitsIn([made])
    } catch (error) {
      throw new TypeError(`${at}: ${(error as Error).message.replace(/^claim\.limits\.?/, '')}`)
    }
    return made
  })
}

/** @throws TypeError or RangeError that names the tenant, the key and what was expected */
export function checkTenants(given: TenantsOptions): void {
  for (const name of namesOf(given, 'tenants', TENANT_SHAPE)) {
    check(`tenants.${name}`, given[name] ?? {}, TENANT)
    try {
      for (const target of given[name]?.targets ?? []) parsePattern(target)
    } catch (error) {
      throw new TypeError(`tenants.${name}.${(error as Error).message}`)
    }
  }
}

/** See `Claim.perFree`. One tenant that floods has four places of five, two at once four of nine each, and others find some free: 40, 23, 16 of 200. */
export const PER_FREE = 4

/** The part of each claim and each quota of one partition of so many. */
export interface Shares {
  /** One list each time: stores read it once. */
  readonly claim: Pick<Claim, 'limits' | 'perPrincipal' | 'perFree'>
  readonly quotaOf: ((tenant: string | null) => Quota) | undefined
  /** The quota of a tenant over all partitions. */
  readonly wholeQuotaOf: ((tenant: string | null) => Quota) | undefined
}

/** @throws TypeError or RangeError that names the option */
export function sharesOf(
  options: ShareOptions & { readonly tokens?: readonly ApiToken[] | undefined },
  partitions: number,
  by: PartitionBy,
): Shares {
  const { concurrencyPerTenant, tenantCapacity, tenantCapacityBytes, tenants = {} } = options
  for (const [name, rule] of Object.entries(OF_SERVICE)) {
    const value = options[name as keyof typeof OF_SERVICE]
    if (value !== undefined) check('createService', { [name]: value }, { [name]: rule })
  }
  checkTenants(tenants)
  // what lies in one partition as a whole has all of its limit there
  const ofTenant = by === 'tenant' ? 1 : partitions
  const limits = limitsOf(options.limits ?? {}).map((limit) =>
    partOf(limit, limit.sharedBy === 'lane' && by !== 'policy' ? 1 : partitions),
  )
  const part = (given: number | undefined): number | undefined =>
    given === undefined ? undefined : shareOf(given, ofTenant)
  const perPrincipal =
    concurrencyPerTenant === undefined
      ? undefined
      : concurrencyOf(concurrencyPerTenant, ofTenant, 'createService.concurrencyPerTenant')
  const hasQuotas = tenantCapacity !== undefined || tenantCapacityBytes !== undefined || Object.keys(tenants).length > 0
  const wholeQuotaOf = (tenant: string | null): Quota => {
    const own: TenantOptions = tenant !== null && Object.hasOwn(tenants, tenant) ? (tenants[tenant] ?? {}) : {}
    const { capacity = tenantCapacity, capacityBytes = tenantCapacityBytes } = own
    return { ...(capacity !== undefined && { capacity }), ...(capacityBytes !== undefined && { capacityBytes }) }
  }
  const quotas = new Map<string | null, Quota>()
  const quotaOf = (tenant: string | null): Quota => {
    const known = quotas.get(tenant)
    if (known) return known
    const quota = Object.fromEntries(Object.entries(wholeQuotaOf(tenant)).map(([name, most]) => [name, part(most)]))
    if (quotas.size >= MOST_KNOWN) quotas.clear()
    quotas.set(tenant, quota)
    return quota
  }
  return {
    claim: {
      ...(limits.length > 0 && { limits }),
      ...(perPrincipal !== undefined && { perPrincipal }),
      ...(hasSeveralTenants(options.tokens) && { perFree: PER_FREE }),
    },
    quotaOf: hasQuotas ? quotaOf : undefined,
    wholeQuotaOf: hasQuotas ? wholeQuotaOf : undefined,
  }
}

/** Tenants come and go. */
const MOST_KNOWN = 10_000

/** The attempts in flight of each partition: all of them together have no more than the limit. @throws RangeError where one would have none */
function concurrencyOf(limit: number, partitions: number, at: string): number {
  if (limit >= partitions) return Math.floor(limit / partitions)
  const why = `as each of ${partitions} partitions has its share`
  throw new RangeError(`${at}: expected ${partitions} or more, ${why}, got ${limit}`)
}

/** Each partition has its part of a rate, and of a burst at least one. */
function partOf(limit: OriginLimit, partitions: number): OriginLimit {
  if (partitions === 1) return limit
  const { concurrency, perSecond, burst, ...rest } = limit
  return {
    ...rest,
    ...(concurrency !== undefined && {
      concurrency: concurrencyOf(concurrency, partitions, `limits['${limit.origins}'].concurrency`),
    }),
    ...(perSecond !== undefined && { perSecond: perSecond / partitions }),
    ...(burst !== undefined && { burst: shareOf(burst, partitions) }),
  }
}
