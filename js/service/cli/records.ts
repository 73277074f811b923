/** Tokens and policies, as they stand in the configuration or in files of their own: checked one by one, and whole. */

import { resolve } from 'node:path'
import type { RetryPolicy } from 'redrive/core'
import { MAX_MS, resolvePolicy, show } from 'redrive/internal'
import { POLICY_ID, POLICY_ID_WORDS, TENANT_SHAPE, TENANT_WORDS } from '../shapes.ts'
import { parsed } from './config-file.ts'
import { reasonOf, UsageError } from './io.ts'
import { dateOf } from './kinds.ts'
import { nearest } from './nearest.ts'

export const SCOPES = ['tasks:read', 'tasks:write', 'policies:write', 'admin', 'metrics'] as const
export type Scope = (typeof SCOPES)[number]

/** A token that may call. The token itself is nowhere: a reader of the file cannot call. */
export interface TokenEntry {
  /** Hex of SHA-256 over the token's text, in small letters. */
  readonly sha256: string
  /** null: no tenant's. With `admin` it sees all of them. */
  readonly tenant: string | null
  readonly scopes: readonly Scope[]
  /** For logs: the one that was given, or the first letters of the hash. */
  readonly name: string
  /** Epoch ms. Absent: it does not end. */
  readonly expiresAt?: number
}

/** The records themselves, or those in a file, under the name that errors call them by. */
function recordsOf(
  given: string | readonly unknown[] | undefined,
  what: 'tokens' | 'policies',
  cwd: string,
): { readonly label: string; readonly records: readonly unknown[] } {
  if (typeof given !== 'string') return { label: what, records: given ?? [] }
  const content = parsed(resolve(cwd, given), given)
  const inside = Array.isArray(content) ? content : (content as Record<string, unknown> | null)?.[what]
  if (Array.isArray(inside)) return { label: `${given}: ${what}`, records: inside }
  throw new UsageError(`${given}: expected a list of ${what}, or an object with the key ${what}`)
}

/** Throws a UsageError that names the first wrong entry. undefined: none are configured, which is not the same as an empty list. */
export function tokensOf(
  given: string | readonly unknown[] | undefined,
  cwd: string,
): readonly TokenEntry[] | undefined {
  if (given === undefined) return undefined
  const { label, records } = recordsOf(given, 'tokens', cwd)
  const tokens = records.map((record, i) => tokenOf(record, `${label}[${i}]`))
  const again = tokens.findIndex(({ sha256 }, i) => tokens.findIndex((each) => each.sha256 === sha256) < i)
  if (again >= 0) throw new UsageError(`${label}[${again}].sha256: this token is there twice`)
  return tokens
}

/** The end of a token is no earlier: 1973, or seconds of a time far ahead. */
const FIRST_MS = 1e11

const TOKEN_KEYS = ['sha256', 'tenant', 'scopes', 'name', 'expiresAt']

function tokenOf(record: unknown, at: string): TokenEntry {
  if (typeof record !== 'object' || record === null || Array.isArray(record)) {
    throw new UsageError(`${at}: expected an entry as \`redrive token\` prints it`)
  }
  const { sha256, tenant = null, scopes, name, expiresAt } = record as Readonly<Record<string, unknown>>
  const strange = Object.keys(record).find((key) => !TOKEN_KEYS.includes(key))
  const refuse = (key: string, expected: string): never => {
    throw new UsageError(`${at}.${key}: expected ${expected}`)
  }
  // the value may be the token itself, so it is not shown
  if (strange !== undefined) {
    const best = nearest(strange, TOKEN_KEYS)
    throw new UsageError(
      `${at}.${strange}: no such key; ${best ? `did you mean ${best}?` : `there are ${TOKEN_KEYS.join(', ')}`}`,
    )
  }
  if (typeof sha256 !== 'string' || !/^[0-9a-f]{64}$/i.test(sha256)) {
    return refuse('sha256', '64 hex digits, the SHA-256 of the token')
  }
  if (tenant !== null && !(typeof tenant === 'string' && TENANT_SHAPE.test(tenant))) {
    return refuse('tenant', `${TENANT_WORDS}, or null`)
  }
  if (!Array.isArray(scopes) || scopes.length === 0 || scopes.some((scope) => !SCOPES.includes(scope))) {
    return refuse('scopes', `a list of ${SCOPES.join(', ')}`)
  }
  if (name !== undefined && typeof name !== 'string') return refuse('name', 'text')
  const ends = typeof expiresAt === 'string' ? dateOf(expiresAt) : expiresAt
  // seconds would be of 1970
  const isSound = typeof ends === 'number' && ends >= FIRST_MS && ends <= MAX_MS
  if (expiresAt !== undefined && !isSound) {
    return refuse('expiresAt', 'epoch milliseconds or a date such as 2027-01-31')
  }
  return {
    sha256: sha256.toLowerCase(),
    tenant,
    scopes,
    name: name ?? sha256.slice(0, 8).toLowerCase(),
    ...(isSound && { expiresAt: ends }),
  }
}

/** The records by name, or those in a file, with `check` asked about all of them: what it throws is a UsageError here. */
export function namedOf<T extends object>(
  given: string | Readonly<Record<string, unknown>> | undefined,
  what: 'credentials' | 'signing' | 'limits' | 'tenants' | 'bodySources',
  cwd: string,
  check: (records: T) => unknown,
): T {
  const isFile = typeof given === 'string'
  const content = isFile ? parsed(resolve(cwd, given), given) : (given ?? {})
  // in a file of their own they may stand under their name, as in the configuration
  const inside = isFile ? ((content as Readonly<Record<string, unknown>> | null)?.[what] ?? content) : content
  try {
    check(inside as T)
  } catch (error) {
    throw new UsageError(`${isFile ? `${given}: ` : ''}${reasonOf(error)}`)
  }
  return inside as T
}

/** Throws a UsageError that names the first wrong policy, and one whose id comes twice. */
export function policiesOf(given: string | readonly unknown[] | undefined, cwd: string): readonly RetryPolicy[] {
  const { label, records } = recordsOf(given, 'policies', cwd)
  const ids = new Set<string>()
  return records.map((record, i) => {
    const policy = policyOf(record, `${label}[${i}]`)
    const { policyId } = policy
    if (typeof policyId !== 'string' || policyId === '') {
      throw new UsageError(`${label}[${i}].policyId: expected a name`)
    }
    if (!POLICY_ID.test(policyId)) {
      throw new UsageError(`${label}[${i}]: expected a policyId of ${POLICY_ID_WORDS}, got ${show(policyId)}`)
    }
    if (ids.has(policyId)) throw new UsageError(`${label}[${i}].policyId: '${policyId}' is there twice`)
    ids.add(policyId)
    return { ...policy, policyId }
  })
}

/** One policy, checked as the service checks it. */
export function policyOf(record: unknown, at: string): Partial<RetryPolicy> {
  try {
    resolvePolicy(record as Partial<RetryPolicy>, undefined, at)
  } catch (error) {
    throw new UsageError(reasonOf(error))
  }
  return record as Partial<RetryPolicy>
}
