/** The functions that give credentials, by origin. Only tasks ask for them, so they are looked up when the core is there. */

import type { Credentials, GiveCredentials } from '../api/credentials.ts'
import { pageOrigin } from '../platform/page.ts'

/** A map, so that no property of a prototype can be taken for an entry. */
export type Givers = ReadonlyMap<string, GiveCredentials>

const known = new WeakMap<Credentials, Givers>()

/** Those of a queue's settings. */
export function giversOf(credentials: Credentials): Givers {
  const givers =
    known.get(credentials) ?? new Map(Object.entries(credentials).map(([key, give]) => [ownOrigin(key), give]))
  known.set(credentials, givers)
  return givers
}

/** The origin that a key of `credentials` stands for. */
export function ownOrigin(key: string): string {
  return (key === 'self' && pageOrigin()) || key
}
