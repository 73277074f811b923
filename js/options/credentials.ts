/**
 * Reads the option `credentials`. It is copied, so that what gives a credential to which origin is settled at construction and
 * no property of a prototype can be taken for an entry.
 */

import type { Credentials, GiveCredentials } from '../api/credentials.ts'
import { fn, follow, object, origin, type Rule, show } from './check.ts'

export type CredentialsByOrigin = ReadonlyMap<string, GiveCredentials>

// by mistake the credential itself may stand where its function should
const MUTE = { isMute: true, got: (given: unknown) => (typeof given === 'string' ? 'a string' : show(given)) } as const

export const CREDENTIALS: Rule = {
  ...object,
  ...MUTE,
  expected: "{ 'https://api.example.com': (request) => headers }",
  // what is gone through, such as a Map, has no entries as properties
  ok: (given: object | null) => given !== null && !(Symbol.iterator in given),
}

const KEY: Rule = { ...origin, expected: `${origin.expected} as a key, or 'self' in a page` }

export function credentialsByOrigin(given: Credentials = {}): CredentialsByOrigin {
  const entries = Object.entries(given).map(([key, give]): [string, GiveCredentials] => {
    const own = (key === 'self' && globalThis.location?.origin) || key
    follow('options.credentials', own, KEY)
    follow(`options.credentials['${key}']`, give, { ...fn, ...MUTE })
    return [own, give]
  })
  return new Map(entries)
}
