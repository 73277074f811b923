/**
 * Room for when the disk is full. SQLite then refuses every write, also the one that says that a task has been sent: what is
 * held could never leave. So noise lies in a file beside the store's. At that moment pieces of it are given up, and what a write
 * leaves of them is taken back, before another program takes it.
 *
 * New tasks get none of it. Where it is not whole they are refused, so that each task that was accepted found it whole.
 */

import {
  closeSync,
  constants,
  fchownSync,
  fstatSync,
  ftruncateSync,
  openSync,
  statfsSync,
  statSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { seededDraw } from '../../platform/random.ts'
import { diskFull } from './errors.ts'
import { isRoot } from './open.ts'

/** A turn that ends 64 tasks of 5 kB writes half of it into the log, one that ends a task of a megabyte all of it. */
const BYTES = 2 ** 20
/** Four times the log of a large disk. */
const TIGHT = 2 ** 26
/** Where new rows find less, old ones give way. */
const SCARCE = 2 * BYTES
/** Most turns write no more. */
const PIECE = 2 ** 17

/** Codes of the system for a disk without room, and for a user without any. */
const NO_ROOM: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT'])

export class DiskReserve {
  /** The file that it is for. */
  readonly #of: string
  readonly #path: string
  /** Making it failed for another reason than want of room: a right, most often. */
  #isImpossible = false

  constructor(path: string) {
    this.#of = path
    this.#path = `${path}-reserve`
  }

  /**
   * Makes it whole where it is not, as far as there is room. Throws `StorageFullError` where there is not enough, unless as much is free within
   * the file itself.
   */
  keep(freeInFile: number = 0): void {
    if (this.#isImpossible || statSync(this.#path, { throwIfNoEntry: false })?.size === BYTES) return
    try {
      this.#opened(constants.O_CREAT, (file, size) => {
        const missing = noise(BYTES - size)
        for (let at = 0; at < missing.length; ) at += writeSync(file, missing, at, missing.length - at, size + at)
      })
    } catch (error) {
      if (NO_ROOM.has((error as NodeJS.ErrnoException).code)) {
        if (freeInFile < BYTES) throw diskFull(this.#of)
      } else this.#isImpossible = true
    }
  }

  /** Gives up a piece of it. Says whether there was one. */
  give(): boolean {
    try {
      return this.#opened(0, (file, size) => {
        ftruncateSync(file, Math.max(0, size - PIECE))
        return size > 0
      })
    } catch {
      return false
    }
  }

  /** Whether the disk may soon be full: from here on nothing is to need more room than the reserve has. */
  isTight(): boolean {
    return this.#free() < TIGHT
  }

  /** Whether new rows find little room, on the disk and in the file together. */
  isScarce(freeInFile: number): boolean {
    return this.#free() + freeInFile < SCARCE
  }

  /** Takes back what there is room for. Says whether that made it whole, with as much again to spare. */
  hasRoom(): boolean {
    try {
      this.keep()
      return this.#free() >= BYTES
    } catch {
      return false
    }
  }

  #free(): number {
    try {
      const { bavail, bsize } = statfsSync(dirname(this.#path))
      return bavail * bsize
    } catch {
      return 0
    }
  }

  /** Through no link of either kind: that would be another's file. */
  #opened<T>(flags: number, work: (file: number, size: number) => T): T {
    const file = openSync(this.#path, constants.O_RDWR | (constants.O_NOFOLLOW ?? 0) | flags, 0o600)
    try {
      const { nlink, size, uid } = fstatSync(file)
      if (nlink > 1) throw new Error('another file')
      const store = isRoot() && uid === 0 ? statSync(this.#of, { throwIfNoEntry: false }) : undefined
      if (store && store.uid !== 0) fchownSync(file, store.uid, store.gid)
      return work(file, Math.min(BYTES, size))
    } finally {
      closeSync(file)
    }
  }
}

/** Bytes that a file system cannot make fewer. */
function noise(bytes: number): Uint8Array {
  const draw = seededDraw(1n)
  return new Uint8Array(Uint32Array.from({ length: Math.ceil(bytes / 4) }, draw).buffer, 0, bytes)
}
