/**
 * Brings the log of a file to the disk beside the event loop: a `COMMIT` that waits for the disk itself (`synchronous = FULL`) holds up all else
 * of the process for as long. One sync is under way at a time, and all that was committed before it begins shares it.
 */

import { closeSync, fdatasync, openSync, realpathSync } from 'node:fs'

interface Waiting {
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
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
  synced(): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#failure) throw this.#failure
      this.#file ??= openSync(`${realpathSync(this.#path)}-wal`, 'r+')
      this.#waiting.push({ resolve, reject })
      if (!this.#isRunning) this.#run(this.#file)
    })
  }

  close(): void {
    this.#isClosed = true
    if (!this.#isRunning) this.#closeFile()
  }

  #run(file: number): void {
    const all = this.#waiting
    this.#waiting = []
    this.#isRunning = true
    fdatasync(file, (error) => {
      this.#isRunning = false
      if (error) {
        this.#failure = error
        for (const { reject } of [...all, ...this.#waiting.splice(0)]) reject(error)
      } else for (const { resolve } of all) resolve()
      if (this.#waiting.length > 0) this.#run(file)
      else if (this.#isClosed) this.#closeFile()
    })
  }

  #closeFile(): void {
    if (this.#file !== undefined) closeSync(this.#file)
    this.#file = undefined
  }
}
