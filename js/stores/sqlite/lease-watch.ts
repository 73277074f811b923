/**
 * Takes leases back at once whose process has died, not when they run out: an owner holds a lock for as long as it may have
 * leases or be a home, and a process that can have that lock takes back what was the owner's. Where a lock could not be
 * taken, or one says nothing, leases run out as they would without.
 */

import type { Clock } from '../../platform/clock.ts'
import type { StoreFile } from './file.ts'
import { endHomes, hasLeft } from './homes.ts'
import { OwnerLocks } from './owner-locks.ts'
import type { FileTransaction } from './transaction.ts'

/** An owner without a lock, most likely in a folder that cannot be written, tries again after this long. */
const TAKE_AGAIN_MS = 60_000

export class LeaseWatch {
  readonly #file: StoreFile
  readonly #locks: OwnerLocks
  readonly #clock: Clock
  readonly #everyMs: number
  #lookedAt = Number.NEGATIVE_INFINITY
  #takeAt = Number.NEGATIVE_INFINITY
  #gone: readonly string[] = []
  /** Files of owners that nothing is left of: some can perhaps not be removed. */
  readonly #settled = new Set<string>()

  /** `everyMs`: the time between two looks, however often it is asked. */
  constructor(file: StoreFile, clock: Clock, everyMs: number) {
    this.#file = file
    this.#locks = new OwnerLocks(file.path)
    this.#clock = clock
    this.#everyMs = everyMs
  }

  /** Takes the lock of `owner` before it is given any lease: it has to be there first. */
  async guard(owner: string): Promise<void> {
    if (this.#locks.isHeld(owner)) return
    const now = this.#clock.monotonic()
    if (now < this.#takeAt) return
    // nothing is put beside a file that turns out not to be ours
    if (await this.#file.read(() => this.#locks.take(owner))) this.#locks.removeForeign(this.#clock.now())
    else this.#takeAt = now + TAKE_AGAIN_MS
  }

  /** Owners whose process was gone at the last look, and that something may be left of. */
  gone(): readonly string[] {
    const now = this.#clock.monotonic()
    if (now - this.#lookedAt < this.#everyMs) return this.#gone
    this.#lookedAt = now
    this.#gone = [...this.#locks.gone(this.#settled).keys()]
    return this.#gone
  }

  /**
   * A transaction that takes back what belonged to owners that are gone, by a second look inside it: an owner takes its lock
   * before it is given anything, and nothing is given while the transaction lasts. So one that has no lock then has no use of
   * what it was given either.
   */
  async writeTurn<T>(work: (tx: FileTransaction) => T): Promise<T> {
    if (this.gone().length === 0) return this.#file.write(work)
    let files: readonly string[] = []
    const result = await this.#file.write((tx) => {
      const gone = this.#locks.gone(this.#settled)
      files = [...gone.values()].flat()
      tx.orphaned = [...gone.keys()]
      endHomes(tx, tx.orphaned)
      return work(tx)
    })
    this.#gone = []
    for (const file of files) this.#settled.add(file)
    this.#locks.remove(files)
    return result
  }

  /** Releases the locks of owners that nothing is left of. Others end with the process. */
  async leave(): Promise<void> {
    for (const owner of this.#locks.owners) {
      try {
        await this.#file.read((database) => {
          if (!hasLeft(database, owner)) this.#locks.drop(owner)
        })
      } catch {
        // of a file that cannot be read nothing is known
      }
    }
    this.#locks.removeFolder()
  }
}
