/**
 * Whether a path still leads to the file that a connection has open. Files are deleted, replaced by a backup or moved away while
 * they are in use. SQLite does not notice: it goes on with the file that it has, of which nothing is left when the process ends.
 */

import { realpathSync, statSync, unlinkSync } from 'node:fs'

/** SQLite's own files beside the database: its log, and the locks and index that all connections share. */
const COMPANIONS = ['-wal', '-shm'] as const

export interface OpenedFile {
  readonly path: string
  /** Links resolved: where the companions lie. */
  readonly whole: string
  readonly main: string
  readonly companions: readonly string[]
  /** The largest size that was seen, in bytes. */
  size: number
}

/**
 * - 'replaced': the path leads nowhere, or to another file.
 * - 'shrunk': the file is the same, and smaller than it was: written anew by another process, or cut short.
 * - 'log lost': the file is the same, and a companion was deleted; nothing stands in its place.
 * - 'log replaced': the same, and another process has begun a companion of its own.
 */
export type FileState = 'same' | 'replaced' | 'shrunk' | 'log lost' | 'log replaced'

/** To be asked once the connection has read something, when its companions are there. */
export function openedFile(path: string): OpenedFile {
  const whole = resolved(path)
  const { number, size } = look(path)
  return { path, whole, main: number, companions: COMPANIONS.map((name) => numberOf(whole + name)), size }
}

export function stateOf(file: OpenedFile): FileState {
  const { path, whole, main, companions } = file
  const { number, size } = look(path)
  if (number !== main) return 'replaced'
  if (size < file.size) return 'shrunk'
  file.size = size
  const found = COMPANIONS.map((name) => numberOf(whole + name))
  const lost = found.filter((number, i) => companions[i] !== NONE && companions[i] !== number)
  if (lost.length === 0) return 'same'
  return lost.every((number) => number === NONE) ? 'log lost' : 'log replaced'
}

/** Deletes companions that belong to a file that is gone: SQLite would take them for those of its successor. */
export function clearCompanions({ whole, companions }: OpenedFile): void {
  for (const [i, name] of COMPANIONS.entries()) {
    if (companions[i] !== NONE && numberOf(whole + name) === companions[i]) unlinkSync(whole + name)
  }
}

const NONE = ''

/** The number of a file, which no other has while it is open; NONE: it is not there, or cannot be seen. */
export const numberOf = (path: string): string => look(path).number

function look(path: string): { readonly number: string; readonly size: number } {
  try {
    const { dev, ino, size } = statSync(path, { bigint: true })
    return { number: `${dev}:${ino}`, size: Number(size) }
  } catch {
    return { number: NONE, size: 0 }
  }
}

/** Takes the size of now for the file's own: it is whole. */
export function acceptSize(file: OpenedFile): void {
  file.size = look(file.path).size
}

function resolved(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}
