/**
 * Group commit: enqueues that arrive together share one transaction, and with it the one wait for the disk that is most of
 * their cost. Each is a savepoint of its own, so one that fails fails alone.
 */

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

  constructor(file: StoreFile) {
    this.#file = file
  }

  add(tasks: Batch['tasks'], lease: Batch['lease']): Promise<readonly Enqueued[]> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ tasks, lease, resolve, reject })
      if (this.#waiting.length === 1) setImmediate(() => this.#commit())
    })
  }

  /** Does now what is waiting. */
  commitAll(): void {
    while (this.#waiting.length > 0) this.#commit()
  }

  /** Does now what has waited longest, and lets others run before it does the rest. */
  #commit(): void {
    const batches = this.#waiting.splice(0, MOST)
    if (this.#waiting.length > 0) setImmediate(() => this.#commit())
    if (batches.length === 0) return
    try {
      const answers = this.#file.write(
        (tx) =>
          batches.map((batch) => {
            try {
              const [outcomes] = tx.apart(() => runNow(enqueue(tx, [batch])))
              return { outcomes }
            } catch (error) {
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
