/**
 * Group commit: enqueues that arrive together share one transaction, and with it the one wait for the disk that is most of
 * their cost. Each is a savepoint of its own, so one that fails fails alone, unless it is the file that fails.
 */

import type { Enqueued } from '../../api/store.ts'
import { type Batch, enqueue } from '../engine/enqueue.ts'
import { runNow } from '../engine/step.ts'
import { isOfFile } from './errors.ts'
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
      const answers = await this.#file.write(
        (tx) =>
          batches.map((batch) => {
            try {
              const [outcomes] = tx.apart(() => runNow(enqueue(tx, [batch])))
              return { outcomes }
            } catch (error) {
              if (isOfFile(error)) throw error
              return { error }
            }
          }),
        { durable: true },
      )
      for (const [i, { resolve, reject }] of batches.entries()) {
        const answer = answers[i]
        if (answer?.outcomes) resolve(answer.outcomes)
        else reject(answer?.error)
      }
    } catch (error) {
      for (const { reject } of batches) reject(error)
    }
  }
}
