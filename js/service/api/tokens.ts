/**
 * The caller of a request, and the tenant it is made for: bearer tokens (RFC 6750), tenants, scopes.
 *
 * Only digests are configured, and digests of digests are compared, in constant time and with all of them: neither a dump of the
 * configuration nor the time of an answer helps to guess a token.
 */

import { createHash, timingSafeEqual } from 'node:crypto'
import { TENANT_SHAPE, TENANT_WORDS } from '../shapes.ts'
import type { ApiToken, Scope } from './context.ts'
import { Problem } from './problem.ts'

/** The bearer of a token, or of none where none is configured. */
export interface Caller {
  readonly name: string
  readonly scopes: readonly Scope[]
  /** The principal of what it makes. */
  readonly tenant: string | null
  /** Whether the tasks of every tenant are its to see and change. */
  readonly seesAll: boolean
  /** The token's digest; '' without tokens. */
  readonly id: string
}

/** A caller that needs no token. */
const OPEN: Caller = { name: '', scopes: [], tenant: null, seesAll: false, id: '' }

const sha256 = (given: string | Uint8Array): Buffer => createHash('sha256').update(given).digest()

/** The tenant for which a caller who sees all acts. */
const TENANT_HEADER = 'redrive-tenant'

export class Tokens {
  readonly #now: () => number
  #given: readonly ApiToken[] | undefined
  #digests: readonly Buffer[] = []

  constructor(now: () => number) {
    this.#now = now
  }

  /** Throws 'unauthorized' where the request has no token that counts, 'forbidden' where it names a tenant that is not its own. */
  callerOf(headers: Headers, tokens: readonly ApiToken[] | undefined): Caller {
    if (tokens === undefined) return actingFor(headers, { ...OPEN, scopes: ['admin'], seesAll: true })
    const text = /^bearer +([\x21-\x7e]+)$/i.exec(headers.get('authorization') ?? '')?.[1]
    if (text === undefined) {
      throw refused('Bearer', 'the request has no token: send `Authorization: Bearer rd_…`')
    }
    const token = this.#find(text, tokens)
    if (!token || (token.expiresAt !== undefined && this.#now() >= token.expiresAt)) {
      throw refused('Bearer error="invalid_token"', 'the token is unknown, or it has expired')
    }
    const { name, scopes, tenant, sha256: id } = token
    return actingFor(headers, { name, scopes, tenant, id, seesAll: tenant === null && scopes.includes('admin') })
  }

  #find(text: string, tokens: readonly ApiToken[]): ApiToken | undefined {
    if (tokens !== this.#given) {
      this.#digests = tokens.map((token) => sha256(token.sha256.toLowerCase()))
      this.#given = tokens
    }
    const digest = sha256(sha256(text).toString('hex'))
    let found: ApiToken | undefined
    // all of them, however soon one fits
    for (const [i, each] of this.#digests.entries()) if (timingSafeEqual(each, digest)) found ??= tokens[i]
    return found
  }
}

/** A caller of a route that asks for no token. */
export const openCaller = (): Caller => OPEN

function refused(challenge: string, detail: string): Problem {
  return new Problem('unauthorized', detail, {}, { 'www-authenticate': challenge })
}

function actingFor(headers: Headers, caller: Caller): Caller {
  const tenant = headers.get(TENANT_HEADER)
  if (tenant === null || (!caller.seesAll && tenant === caller.tenant)) return caller
  if (!caller.seesAll) {
    throw new Problem('forbidden', 'only an admin token without a tenant of its own may name one in Redrive-Tenant')
  }
  if (!TENANT_SHAPE.test(tenant)) {
    throw new Problem('bad-request', `Redrive-Tenant: expected ${TENANT_WORDS}`)
  }
  return { ...caller, tenant, seesAll: false }
}

export const isAllowed = ({ scopes }: Caller, scope: Scope): boolean =>
  scopes.includes(scope) || scopes.includes('admin')

/** Throws 'forbidden' where the caller lacks a scope. */
export function demand(caller: Caller, scope: Scope): void {
  if (isAllowed(caller, scope)) return
  throw new Problem('forbidden', `this needs the scope '${scope}', which the token does not have`)
}

/** Whether a task of this principal may be seen. */
export const sees = ({ seesAll, tenant }: Caller, { principal }: { readonly principal: string | null }): boolean =>
  seesAll || principal === tenant

/** The part of a store's filter that keeps to what the caller sees. */
export const ownOf = ({ seesAll, tenant }: Caller): { readonly principal?: string | null } =>
  seesAll ? {} : { principal: tenant }

/** Like `ownOf`, where a body may name a tenant. Throws 'forbidden' for another's. */
export function ownIn(caller: Caller, named: string | null | undefined): { readonly principal?: string | null } {
  if (named === undefined) return ownOf(caller)
  if (caller.seesAll || named === caller.tenant) return { principal: named }
  throw new Problem('forbidden', 'the token is for another tenant')
}

/** Whether tasks may be of more than one tenant: of those of several tokens, or of any that a caller names. */
export function hasSeveralTenants(tokens: readonly ApiToken[] | undefined): boolean {
  if (tokens === undefined || tokens.some(({ tenant, scopes }) => tenant === null && scopes.includes('admin')))
    return true
  return new Set(tokens.map(({ tenant }) => tenant)).size > 1
}
