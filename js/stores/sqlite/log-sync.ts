/**
 * Brings the log of a file to the disk beside the event loop: a `COMMIT` that waits for the disk itself (`synchronous = FULL`) holds up all else
 * of the process for as long. One sync is under way at a time, and all that was committed before it begins shares it.
 */

import { closeSync, fdatasync, fdatasyncSync, openSync, realpathSync } from 'node:fs'

interface Waiting {
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

type Sync = (file: number, ended: (error: Error | null) => void) => void

/** For a clock that stands still while a disk works: in its time a commit takes none. */
const syncAtOnce: Sync = (file, ended) => {
  try {
    fdatasyncSync(file)
  } catch (error) {
    return ended(error as Error)
  }
  ended(null)
}

export class LogSync {
  readonly #path: string
  /**
   * Open from the first sync on: Linux may tell a file that is opened later nothing of a write that has failed before. SQLite locks other files than its log, or
   * closing this one would take its locks.
   */
  #file: number | undefined
  #waiting: Waiting[] = []
  #isRunning = false
  #isClosed = false
  #failure: unknown

  /** `path`: of the database. */
  constructor(path: string) {
    this.#path = path
  }

  /** Resolves once all that is in the log by now is on the disk. After one that has failed none succeeds: the system may say it once only. */
  synced(atOnce: boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#failure) throw this.#failure
      this.#file ??= openSync(`${realpathSync(this.#path)}-wal`, 'r+')
      this.#waiting.push({ resolve, reject })
      if (!this.#isRunning) this.#run(this.#file, atOnce ? syncAtOnce : fdatasync)
    })
  }

  close(): void {
    this.#isClosed = true
    if (!this.#isRunning) this.#closeFile()
  }

  #run(file: number, sync: Sync): void {
    const all = this.#waiting
    this.#waiting = []
    this.#isRunning = true
    sync(file, (error) => {
      this.#isRunning = false
      if (error) {
        this.#failure = error
        for (const { reject } of [...all, ...this.#waiting.splice(0)]) reject(error)
      } else for (const { resolve } of all) resolve()
      if (this.#waiting.length > 0) this.#run(file, sync)
      else if (this.#isClosed) this.#closeFile()
    })
  }

  #closeFile(): void {
    if (this.#file !== undefined) closeSync(this.#file)
    this.#file = undefined
  }
}
