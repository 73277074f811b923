/**
 * Reads the option `credentials`. It is copied, so that what gives a credential to which origin is settled at construction and
 * no property of a prototype can be taken for an entry.
 */

import type { Credentials, GiveCredentials } from '../api/credentials.ts'
import { fn, follow, object, originIn, type Rule, text } from './check.ts'

export type CredentialsByOrigin = ReadonlyMap<string, GiveCredentials>

export const CREDENTIALS: Rule = {
  ...object,
  expected: "{ 'https://api.example.com': (request) => headers }",
  ok: (given) => given !== null && !Array.isArray(given),
}

const KEY: Rule = {
  ...text,
  expected: "origins as keys, such as 'https://api.example.com', or self in a page",
  ok: (key: string) => originIn(key) === key && !key.includes('*'),
}

export function credentialsByOrigin(given: Credentials = {}): CredentialsByOrigin {
  const own = Object.entries(given).map(([key, give]): [string, GiveCredentials] => {
    const origin = (key === 'self' && globalThis.location?.origin) || key
    follow('options.credentials', origin, KEY)
    follow(`options.credentials['${key}']`, give, fn)
    return [origin, give]
  })
  return new Map(own)
}
