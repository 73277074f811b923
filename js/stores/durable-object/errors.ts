/** Turns what a Durable Object's storage throws into an error of the package, which says what to do about it. */

import { RedriveError } from '../../api/errors.ts'
import { StorageFullError } from '../../api/task-errors.ts'
import { errorText } from '../../platform/error-text.ts'

/** For what `ctx.storage` itself has thrown; an error of the package stays as it is. */
export function translated(error: unknown): unknown {
  if (error instanceof RedriveError) return error
  const said = errorText(error)
  if (said.includes('SQLITE_FULL')) {
    return new StorageFullError(
      'the storage of this Durable Object is full: nothing was stored; purge tasks, keep them for less time, or spread them over more shards',
      { cause: error },
    )
  }
  return unavailable(`${said}; if it goes on, see whether its class is one with SQLite (new_sqlite_classes)`, error)
}

export function unavailable(what: string, cause?: unknown): RedriveError {
  return new RedriveError('STORAGE_UNAVAILABLE', `the storage of this Durable Object: ${what}`, { cause })
}

export function newer(found: number, known: number): RedriveError {
  return new RedriveError(
    'STORAGE_NEWER',
    `the storage of this Durable Object was written by a later version (layout ${found}, this one knows ${known}): deploy a Worker with that version of redrive again; nothing was changed`,
  )
}
