/** Names as they are kept in Redis: short, and of one length. */

import { Buffer } from 'node:buffer'
import { hash } from 'node:crypto'

const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/
const BYTES = 16

export const isUuid = (text: string): boolean => UUID.test(text)

/** Stands before an id that is no UUID, so that none is taken for one. */
const OTHER = Buffer.alloc(BYTES)
export const NONE: Buffer = Buffer.alloc(BYTES)

/** An id in bytes, which compare as the ids do: a UUID as 16. Ids that are none come before those that are. */
export function idBytes(taskId: string): Buffer {
  return isUuid(taskId) ? Buffer.from(taskId.replaceAll('-', ''), 'hex') : Buffer.concat([OTHER, Buffer.from(taskId)])
}

export function idText(bytes: Buffer): string {
  if (bytes.length !== BYTES) return bytes.toString('utf8', BYTES)
  const hex = bytes.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

/** The first 16 bytes of a SHA-256: two names that share them are not to be found. */
export const digest = (text: string): Buffer => Buffer.from(hash('sha256', text, 'hex').slice(0, 2 * BYTES), 'hex')

const SHA256 = /^[\da-f]{64}$/

/** Stands for a fingerprint: one that is a SHA-256 in hexadecimal needs no other. */
export const fingerprintTag = (fingerprint: string): Buffer =>
  SHA256.test(fingerprint) ? Buffer.from(fingerprint.slice(0, 2 * BYTES), 'hex') : digest(fingerprint)

const MOST_KNOWN = 10_000
const tags = new Map<string | null, Buffer>()

/** Stands for a principal. `null` is none of them. */
export function principalTag(principal: string | null): Buffer {
  const known = tags.get(principal)
  if (known) return known
  if (tags.size >= MOST_KNOWN) tags.clear()
  const tag = digest(principal === null ? 'n' : `p${principal}`)
  tags.set(principal, tag)
  return tag
}
