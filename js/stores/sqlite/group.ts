/**
 * Group commit: enqueues that arrive together share one transaction, and with it the one wait for the disk that is most of
 * their cost. Where one fails each is done alone, so that one fails alone, unless it is the file that fails.
 */

import { RedriveError } from '../../api/errors.ts'
import type { Enqueued } from '../../api/store.ts'
import { type Batch, enqueue } from '../engine/enqueue.ts'
import { runNow } from '../engine/step.ts'
import type { StoreFile } from './file.ts'

/** Most calls of one transaction: thousands at once would keep all else from running for as long as they take. */
const MOST = 128

interface Waiting extends Batch {
  readonly resolve: (outcomes: readonly Enqueued[]) => void
  readonly reject: (error: unknown) => void
}

export class EnqueueGroup {
  readonly #file: StoreFile
  readonly #waiting: Waiting[] = []
  /** The commit under way, and those after it that take what waits. Never rejects. */
  #commits: Promise<void> | undefined

  constructor(file: StoreFile) {
    this.#file = file
  }

  add(tasks: Batch['tasks'], lease: Batch['lease']): Promise<readonly Enqueued[]> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ tasks, lease, resolve, reject })
      this.#commits ??= this.#run()
    })
  }

  /** Resolves when nothing waits. */
  async commitAll(): Promise<void> {
    await this.#commits
  }

  /** Does what has waited longest, and lets others run before it does the rest. */
  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      await new Promise(setImmediate)
      await this.#commit(this.#waiting.splice(0, MOST))
    }
    this.#commits = undefined
  }

  async #commit(batches: readonly Waiting[]): Promise<void> {
    try {
      const outcomes = await this.#file.write((tx) => runNow(enqueue(tx, batches)), { durable: true })
      for (const [i, { resolve }] of batches.entries()) resolve(outcomes[i] ?? [])
    } catch (error) {
      const isOfFile = error instanceof RedriveError
      if (batches.length > 1 && !isOfFile) for (const one of batches) await this.#commit([one])
      else for (const { reject } of batches) reject(error)
    }
  }
}
