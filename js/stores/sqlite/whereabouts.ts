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
}

/**
 * - 'replaced': the path leads nowhere, or to another file.
 * - 'log lost': the file is the same, and a companion was deleted; nothing stands in its place.
 * - 'log replaced': the same, and another process has begun a companion of its own.
 */
export type Whereabouts = 'same' | 'replaced' | 'log lost' | 'log replaced'

/** To be asked once the connection has read something, when its companions are there. */
export function openedFile(path: string): OpenedFile {
  const whole = resolved(path)
  return { path, whole, main: numberOf(path), companions: COMPANIONS.map((name) => numberOf(whole + name)) }
}

export function whereaboutsOf({ path, whole, main, companions }: OpenedFile): Whereabouts {
  if (numberOf(path) !== main) return 'replaced'
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
export function numberOf(path: string): string {
  try {
    const { dev, ino } = statSync(path, { bigint: true })
    return `${dev}:${ino}`
  } catch {
    return NONE
  }
}

function resolved(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}
