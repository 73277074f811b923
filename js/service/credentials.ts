/**
 * Credentials by name. A task says which it wants, its operator says what that is, which tenants may name it, and where it may go: all
 * three are asked when the task comes in and again before each attempt, so a name that is taken back holds at once. The credential
 * itself is read for the attempt, laid over its headers, and is in no record, log, metric or answer (S12, S16).
 */

import type { CredentialsRequest, GiveCredentials } from 'redrive'
import { show } from 'redrive/internal'
import { FIELD_NAME, FIELD_VALUE, OWN_FIELDS } from './field-rules.ts'
import { isNamed, namesOf, type TenantList, tenantsOf } from './named.ts'
import { SecretError, type SecretSource, type Secrets, SOURCES, shownSource, sourceIn } from './secrets.ts'

/** The value of a header, and where it is read. */
export interface HeaderSource {
  /** `env:NAME`, `file:PATH` or `exec:COMMAND`: see [sending](https://github.com/redrive-dev/redrive/blob/main/docs/service-sending.md). */
  readonly from: string
  /** Put before it, such as `Bearer `. @default nothing */
  readonly prefix?: string
}

export interface CredentialOptions {
  /** Where it may go: exact origins, as `new URL(url).origin` gives them. */
  readonly origins: readonly string[]
  /** Tenants whose tasks may name it; null stands for tasks of none, '*' for all. @default [null] */
  readonly tenants?: TenantList
  /** The headers that it is, by name; or a function that gives them, asked before each attempt, for at most 5 s. */
  readonly headers: Readonly<Record<string, HeaderSource>> | GiveCredentials
}

/** Credentials by the names that tasks call them by: 1 to 64 letters, digits, `.`, `_` and `-`. */
export type CredentialsOptions = Readonly<Record<string, CredentialOptions>>

export interface Credentials {
  /**
   * Gives the headers of one attempt; a text: why a task of this tenant may not have them, which says no more of another tenant's than of
   * what there is not.
   */
  giverOf(name: string, tenant: string | null, origin: string): GiveCredentials | string
}

interface Entry {
  readonly origins: ReadonlySet<string>
  readonly tenants: TenantList
  readonly give: GiveCredentials
}

/** A credential could not be had. `why`: without a part of it. */
export type ReportFailure = (name: string, why: string) => void

/** @throws TypeError that names the option, what was expected and no value that may be secret */
export function makeCredentials(given: CredentialsOptions, secrets: Secrets, report: ReportFailure): Credentials {
  const entries = new Map<string, Entry>(
    namesOf(given, 'credentials').map((name) => {
      const { origins, tenants, headers } = entryIn(name, given[name] as CredentialOptions)
      const give = typeof headers === 'function' ? headers : readerOf(headers, secrets)
      return [name, { origins, tenants, give: telling(name, give, report) }]
    }),
  )
  return {
    giverOf(name, tenant, origin) {
      const entry = entries.get(name)
      if (!entry || !isNamed(tenant, entry.tenants)) return `there is no credential '${name}' for this tenant`
      return entry.origins.has(origin) ? entry.give : `the credential '${name}' is not for ${origin}`
    },
  }
}

/** @throws TypeError likewise */
export const checkCredentials = (given: CredentialsOptions): void =>
  void namesOf(given, 'credentials').map((name) => entryIn(name, given[name] as CredentialOptions))

const KEYS = ['origins', 'tenants', 'headers']

interface Checked extends Pick<Entry, 'origins' | 'tenants'> {
  readonly headers: readonly Header[] | GiveCredentials
}

function entryIn(name: string, given: CredentialOptions): Checked {
  const at = `credentials.${name}`
  const strange = Object.keys(given).find((key) => !KEYS.includes(key))
  if (strange !== undefined) throw new TypeError(`${at}.${strange}: no such key; there are ${KEYS.join(', ')}`)
  const { origins, tenants, headers } = given
  if (!Array.isArray(origins) || origins.length === 0) {
    throw new TypeError(`${at}.origins: expected a list of origins, such as ["https://api.example.com"]`)
  }
  for (const origin of origins) {
    if (!isOrigin(origin)) {
      throw new TypeError(`${at}.origins: expected exact origins, such as https://api.example.com, got ${show(origin)}`)
    }
  }
  const read = typeof headers === 'function' ? headers : headersIn(headers, at)
  return { origins: new Set(origins), tenants: tenantsOf(tenants, at), headers: read }
}

function isOrigin(value: unknown): boolean {
  if (typeof value !== 'string' || !URL.canParse(value)) return false
  const { origin, protocol } = new URL(value)
  return /^https?:$/.test(protocol) && origin === value
}

/** Those of the connection, and the task's key. */
const OTHERS: ReadonlySet<string> = new Set([...OWN_FIELDS, 'idempotency-key'])

interface Header {
  readonly name: string
  readonly source: SecretSource
  readonly prefix: string
}

function headersIn(given: unknown, at: string): readonly Header[] {
  const isObject = typeof given === 'object' && given !== null && !Array.isArray(given)
  const entries = isObject ? Object.entries(given as Readonly<Record<string, unknown>>) : []
  if (entries.length === 0) {
    throw new TypeError(`${at}.headers: expected headers by name, such as { "authorization": { "from": "env:TOKEN" } }`)
  }
  return entries.map(([name, value]) => headerOf(name.toLowerCase(), value, `${at}.headers.${name}`))
}

function headerOf(name: string, given: unknown, at: string): Header {
  if (!FIELD_NAME.test(name)) throw new TypeError(`${at}: expected a name that is an HTTP token`)
  if (OTHERS.has(name)) throw new TypeError(`${at}: this header is made for each attempt, and is no credential`)
  const { from, prefix = '', ...more } = (given ?? {}) as Readonly<Record<string, unknown>>
  const [strange] = Object.keys(more)
  if (strange !== undefined) throw new TypeError(`${at}.${strange}: no such key; there are from and prefix`)
  const source = typeof from === 'string' ? sourceIn(from) : undefined
  // what stands here may be the credential itself
  if (!source) throw new TypeError(`${at}.from: expected ${SOURCES}`)
  if (typeof prefix !== 'string' || !FIELD_VALUE.test(prefix))
    throw new TypeError(`${at}.prefix: expected text for a header`)
  return { name, source, prefix }
}

const readerOf =
  (headers: readonly Header[], secrets: Secrets): GiveCredentials =>
  async ({ unauthorized }) => {
    const read = headers.map(async ({ name, source, prefix }) => {
      const text = await secrets.read(source, unauthorized)
      if (!FIELD_VALUE.test(text)) throw new SecretError(shownSource(source), 'what is there can be no header')
      return [name, prefix + text] as const
    })
    return Object.fromEntries(await Promise.all(read))
  }

/** The queue says of an error of a hook that there was one: its words may be the credential. Ours are not. */
const telling =
  (name: string, give: GiveCredentials, report: ReportFailure): GiveCredentials =>
  async (request: CredentialsRequest) => {
    try {
      return await give(request)
    } catch (error) {
      report(name, error instanceof SecretError ? error.message : 'its function failed')
      throw error
    }
  }
