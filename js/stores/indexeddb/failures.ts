/** Turns what IndexedDB throws into an error of the package, which names the database and says what to do about it. */

import { RedriveError } from '../../api/errors.ts'
import { StorageFullError } from '../../api/task-errors.ts'

/** The connection, or the process behind it, has gone away: another connection may do what this one could not. */
export class Lost extends Error {
  override readonly name = 'Lost'
  constructor(cause: unknown) {
    super('the connection to the database was lost', { cause })
  }
}

/** The names that engines give when the storage process ends, data is cleared, the disk fails or the connection is closed. */
const LOST = new Set(['AbortError', 'InvalidStateError', 'UnknownError'])

/** By name, since no class will do: a full quota has one of its own in newer engines only. */
export const nameOf = (error: unknown): unknown => (error as { readonly name?: unknown } | null | undefined)?.name

/** `error` is the storage's: of a request, a transaction or an open. null, as of a transaction that says nothing: lost. */
export function translated(error: unknown, name: string): Error {
  const kind = nameOf(error)
  if (kind === 'QuotaExceededError') {
    return new StorageFullError(
      `the browser gives '${name}' no more room: nothing was stored; delete what the site no longer needs, or lower capacityBytes`,
      { cause: error },
    )
  }
  if (error === null || LOST.has(String(kind))) return new Lost(error)
  if (kind === 'VersionError') return newer(name, error)
  if (kind === 'NotFoundError') {
    return unavailable(name, 'it was made by something else, or is damaged; delete it, or give another name', error)
  }
  if (kind === 'SecurityError') {
    return unavailable(name, 'the browser lets this page store nothing; allow site data for it', error)
  }
  return unavailable(name, `the browser refused (${String(error)}); reload the page`, error)
}

export function unavailable(name: string, advice: string, cause?: unknown): RedriveError {
  return new RedriveError('STORAGE_UNAVAILABLE', `the database '${name}': ${advice}`, { cause })
}

function newer(name: string, cause: unknown): RedriveError {
  return new RedriveError(
    'STORAGE_NEWER',
    `the database '${name}' was written by a later version: reload the page, or update redrive here; nothing was changed`,
    { cause },
  )
}
