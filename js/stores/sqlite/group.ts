/**
 * Group commit: enqueues that arrive together share one transaction, and with it the one wait for the disk that is most of
 * their cost. Each is a savepoint of its own, so one that fails fails alone.
 */

import type { Enqueued } from '../../api/store.ts'
import { type Batch, enqueue } from '../engine/enqueue.ts'
import { runNow } from '../engine/step.ts'
import type { StoreFile } from './file.ts'

interface Waiting extends Batch {
  readonly resolve: (outcomes: readonly Enqueued[]) => void
  readonly reject: (error: unknown) => void
}

export class EnqueueGroup {
  readonly #file: StoreFile
  #waiting: Waiting[] = []

  constructor(file: StoreFile) {
    this.#file = file
  }

  add(tasks: Batch['tasks'], lease: Batch['lease']): Promise<readonly Enqueued[]> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ tasks, lease, resolve, reject })
      if (this.#waiting.length === 1) setImmediate(() => this.commit())
    })
  }

  /** Does now what is waiting. */
  commit(): void {
    const batches = this.#waiting
    this.#waiting = []
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
