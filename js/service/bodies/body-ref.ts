/**
 * The reference of an uploaded body, as callers have it: its id, its length and its SHA-256. It says all that a task needs to know, so nothing
 * has to be looked up for it but whether the body is there; one that was changed leads to no body.
 */

import { hash } from 'node:crypto'
import { timeOfId } from 'redrive/internal'
import type { BodyFacts } from './body-store.ts'

export const REF_SHAPE: RegExp = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\.\d{1,13}\.[\w-]{43}$/

export const REF_EXAMPLE = '0199a3b4-6c58-7000-8a4f-3f1d2c9b7e60.1048576.n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCgg'

export const refOf = (id: string, { bytes, sha256 }: BodyFacts): string =>
  `${id}.${bytes}.${Buffer.from(sha256, 'hex').toString('base64url')}`

export interface ReadRef extends BodyFacts {
  readonly id: string
  readonly createdAt: number
}

/** undefined: it is none. */
export function readRef(text: string): ReadRef | undefined {
  if (!REF_SHAPE.test(text)) return undefined
  const [id = '', bytes = '', digest = ''] = text.split('.')
  return { id, bytes: Number(bytes), sha256: Buffer.from(digest, 'base64url').toString('hex'), createdAt: timeOfId(id) }
}

/** The key under which a body of a tenant lies. Each tenant has a part of its own, so no reference leads to another's. */
export function keyFor(tenant: string | null, id: string): string {
  // '=' tells the tenant '' from none
  const own = hash('sha256', tenant === null ? '' : `=${tenant}`, 'hex').slice(0, 16)
  return `${own}/${id}`
}
