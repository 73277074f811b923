/** Turns what SQLite throws into an error of the package, which names the file and says what to do about it. */

import { RedriveError } from '../../api/errors.ts'
import { StorageFullError } from '../../api/task-errors.ts'

/** https://www.sqlite.org/rescode.html: the low byte is the primary code. */
const OTHER = 1
const BUSY = 5
const CORRUPT = 11
const FULL = 13
const CANTOPEN = 14
const READONLY = 8
const NOT_A_DATABASE = 26
const PERMISSION = 3
const IO = 10
const UNSYNCED = IO | (4 << 8)
/** No room for the index of the log, which is made anew with each start. */
const NO_ROOM_FOR_INDEX = IO | (19 << 8)

const ADVICE: Readonly<Record<number, string>> = {
  [BUSY]: 'another process holds it; end the one that keeps a transaction open',
  [CORRUPT]: 'its contents are damaged; restore it from a backup or give another path',
  [CANTOPEN]: 'it cannot be opened; make its folder, and give this process the right to write there',
  [READONLY]: 'it cannot be written; give this process the right to write the file and its folder',
  [NOT_A_DATABASE]: 'it is no SQLite database; give another path',
  [PERMISSION]: 'it may not be opened; give this process the right to write the file and its folder',
  [IO]: 'reading or writing failed; look at the disk',
  [UNSYNCED]: 'the disk did not confirm what was written; look at the disk',
}

const codeOf = (error: unknown): number | undefined => {
  const code = (error as { readonly errcode?: unknown }).errcode
  return typeof code === 'number' ? code : undefined
}

const primaryCode = (error: unknown): number | undefined => {
  const code = codeOf(error)
  return code === undefined ? undefined : code & 0xff
}

export const isBusy = (error: unknown): boolean => primaryCode(error) === BUSY
/** A table that is missing was cut off: statements name none but those of the layout. */
export const isCorrupt = (error: unknown): boolean =>
  primaryCode(error) === CORRUPT || (primaryCode(error) === OTHER && /^no such table/.test((error as Error).message))
/** Nor is a file whose first page is gone a database. */
export const isNoDatabase = (error: unknown): boolean => primaryCode(error) === NOT_A_DATABASE
export const isFull = (error: unknown): boolean => primaryCode(error) === FULL || codeOf(error) === NO_ROOM_FOR_INDEX
export const isReadOnly = (error: unknown): boolean => primaryCode(error) === READONLY

const OPENED_ANEW: ReadonlySet<number | undefined> = new Set([
  READONLY,
  CANTOPEN,
  PERMISSION,
  IO,
  NOT_A_DATABASE,
  CORRUPT,
])

/** Whether a connection that met it is of no more use: one that was opened anew might be, as a file that could not be written then can be now. */
export const isUnusable = (error: unknown): boolean => OPENED_ANEW.has(primaryCode(error))

/** Anything but SQLite's own errors stays as it is. */
export function translated(error: unknown, path: string): unknown {
  const code = primaryCode(error)
  if (isFull(error)) return diskFull(path)
  const advice = code === undefined ? undefined : (ADVICE[codeOf(error) ?? code] ?? ADVICE[code])
  return advice ? unavailable(path, advice, error) : error
}

/** Damage that SQLite has not found itself, in its words. */
export const corrupt = (): Error =>
  Object.assign(new Error('an index does not say what its table says'), { errcode: CORRUPT })

/** A sync that has failed, in the words of SQLite for one of its own. */
export const unsynced = (cause?: unknown): Error =>
  Object.assign(new Error('the log was not synced', { cause }), { errcode: UNSYNCED })

export function diskFull(path: string): StorageFullError {
  return new StorageFullError(`the disk under '${path}' is full: nothing was stored; make room, or lower capacityBytes`)
}

export function unavailable(path: string, advice: string, cause?: unknown): RedriveError {
  return new RedriveError('STORAGE_UNAVAILABLE', `the store '${path}': ${advice}`, { cause })
}

/** `everyone`: how it was to be opened. */
export function otherLine(path: string, everyone: boolean): RedriveError {
  const [found, how] = everyone
    ? ['each in the line of its principal', 'without']
    : ['all in one line for everyone', 'with']
  return new RedriveError(
    'STORAGE_OTHER_LINE',
    `the store '${path}' holds tasks, ${found}: open it ${how} everyone: true, or give another path; nothing was changed`,
  )
}

export function newer(path: string, found: number, known: number): RedriveError {
  return new RedriveError(
    'STORAGE_NEWER',
    `the store '${path}' was written by a later version (layout ${found}, this one knows ${known}): update redrive here, or give another path; nothing was changed`,
  )
}
