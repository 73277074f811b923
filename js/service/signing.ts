/**
 * Signs what is sent, as Standard Webhooks has it, so that who receives it can tell that it is genuine and new. A signature covers the
 * time of its attempt, so it is made for each, over the bytes that are about to go out; the keys are read for it, and are kept, shown
 * and logged nowhere (S12).
 */

import { createHmac, createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto'
import type { Clock, Sign } from 'redrive'
import type { ReportFailure } from './credentials.ts'
import { isNamed, namesOf, type TenantList, tenantsOf } from './named.ts'
import { SecretError, type SecretSource, type Secrets, SOURCES, shownSource, sourceIn } from './secrets.ts'

/** Where a key is read: `whsec_…` (HMAC-SHA-256, signatures `v1`) or `whsk_…` (ed25519, `v1a`). */
export interface SigningKeySource {
  /** `env:NAME`, `file:PATH` or `exec:COMMAND`: see [sending](https://github.com/redrive-dev/redrive/blob/main/docs/service-sending.md). */
  readonly from: string
}

export interface SigningOptions {
  /** Each makes a signature; two, while one takes the place of another. */
  readonly keys: readonly SigningKeySource[]
  /** Tenants whose tasks may name it; null stands for tasks of none, '*' for all. @default [null] */
  readonly tenants?: TenantList
}

/** Keys by the names that tasks call them by: 1 to 64 letters, digits, `.`, `_` and `-`. */
export type SigningsOptions = Readonly<Record<string, SigningOptions>>

export interface Signing {
  /** Signs the attempts of a task; a text: why a task of this tenant may not have that. */
  signerOf(name: string, tenant: string | null, taskId: string): Sign | string
}

interface Entry {
  readonly name: string
  readonly tenants: TenantList
  readonly keys: readonly SecretSource[]
}

interface Parts {
  readonly secrets: Secrets
  readonly clock: Clock
  readonly report: ReportFailure
}

/** @throws TypeError that names the option, what was expected and no value that may be secret */
export function makeSigning(given: SigningsOptions, { secrets, clock, report }: Parts): Signing {
  const entries = new Map<string, Entry>(
    namesOf(given, 'signing').map((name) => [name, entryOf(name, given[name] as SigningOptions)]),
  )
  return {
    signerOf(name, tenant, taskId) {
      const entry = entries.get(name)
      if (!entry || !isNamed(tenant, entry.tenants)) return `there is no signing '${name}' for this tenant`
      return async ({ body }) => {
        try {
          const keys = await Promise.all(entry.keys.map((source) => keyAt(source, secrets)))
          // the last thing before it is sent, so that it is as young as can be
          return signatureOf(taskId, Math.floor(clock.now() / 1_000), body, keys)
        } catch (error) {
          report(name, error instanceof SecretError ? error.message : 'it failed')
          throw error
        }
      }
    },
  }
}

/** @throws TypeError likewise */
export const checkSigning = (given: SigningsOptions): void =>
  void namesOf(given, 'signing').map((name) => entryOf(name, given[name] as SigningOptions))

function entryOf(name: string, given: SigningOptions): Entry {
  const at = `signing.${name}`
  const { keys, tenants, ...more } = given
  const [strange] = Object.keys(more)
  if (strange !== undefined) throw new TypeError(`${at}.${strange}: no such key; there are keys and tenants`)
  if (!Array.isArray(keys) || keys.length === 0) {
    throw new TypeError(`${at}.keys: expected a list such as [{ "from": "file:/run/secrets/whsec" }]`)
  }
  const sources = keys.map((key: unknown, i) => {
    const { from, ...others } = (key ?? {}) as Readonly<Record<string, unknown>>
    const source = typeof from === 'string' && Object.keys(others).length === 0 ? sourceIn(from) : undefined
    // what stands here may be the key itself
    if (!source) throw new TypeError(`${at}.keys[${i}]: expected { "from": … }, which is ${SOURCES}`)
    return source
  })
  return { name, tenants: tenantsOf(tenants, at), keys: sources }
}

/** A key that was read. */
type Key = { readonly hmac: Buffer } | { readonly ed25519: KeyObject }

/** The headers of Standard Webhooks for one attempt. */
export function signatureOf(
  id: string,
  seconds: number,
  body: Uint8Array,
  keys: readonly Key[],
): Readonly<Record<string, string>> {
  const content = Buffer.concat([Buffer.from(`${id}.${seconds}.`), body])
  const signatures = keys.map((key) =>
    'hmac' in key
      ? `v1,${createHmac('sha256', key.hmac).update(content).digest('base64')}`
      : `v1a,${sign(null, content, key.ed25519).toString('base64')}`,
  )
  return { 'webhook-id': id, 'webhook-timestamp': `${seconds}`, 'webhook-signature': signatures.join(' ') }
}

async function keyAt(source: SecretSource, secrets: Secrets): Promise<Key> {
  const key = keyIn(await secrets.read(source))
  if (key) return key
  throw new SecretError(
    shownSource(source),
    'expected whsec_ and 24 to 64 bytes, or whsk_ and a key of ed25519, in base64',
  )
}

const BASE64 = /^(?:[A-Za-z\d+/]{4})*(?:[A-Za-z\d+/]{2}==|[A-Za-z\d+/]{3}=)?$/
/** PKCS #8 of an ed25519 key, up to its seed (RFC 8410, 7). */
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex')
const SEED_BYTES = 32

/** The key that a text says; undefined: it says none. */
export function keyIn(text: string): Key | undefined {
  const [, kind, base64 = ''] = /^(whsec|whsk)_(.*)$/.exec(text) ?? []
  if (!BASE64.test(base64)) return undefined
  const bytes = Buffer.from(base64, 'base64')
  if (kind === 'whsec') return bytes.length >= 24 && bytes.length <= 64 ? { hmac: bytes } : undefined
  if (kind !== 'whsk' || (bytes.length !== SEED_BYTES && bytes.length !== 2 * SEED_BYTES)) return undefined
  const der = Buffer.concat([PKCS8, bytes.subarray(0, SEED_BYTES)])
  const ed25519 = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  // a seed may have its public key behind it, which has to be its own
  const own = createPublicKey(ed25519).export({ format: 'jwk' }).x
  const given = bytes.subarray(SEED_BYTES)
  return given.length === 0 || given.toString('base64url') === own ? { ed25519 } : undefined
}
