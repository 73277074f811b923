/**
 * Group commit: enqueues that arrive while one is being written go together into the next transaction, and share its wait
 * for the disk. No timer: the first of them waits for nothing. Where a group fails each is done alone, so one fails alone.
 */

import type { Enqueued, NewTask } from '../../api/store.ts'
import type { Batch, EnqueueLease } from './enqueue.ts'

interface Waiting extends Batch {
  readonly resolve: (outcomes: readonly Enqueued[]) => void
  readonly reject: (error: unknown) => void
}

/** Asks for the batches when their turn has come. */
type Write = (batches: () => readonly Batch[]) => Promise<readonly (readonly Enqueued[])[]>

export class EnqueueGroup {
  readonly #write: Write
  #waiting: Waiting[] = []

  constructor(write: Write) {
    this.#write = write
  }

  add(tasks: readonly NewTask[], lease: EnqueueLease | undefined): Promise<readonly Enqueued[]> {
    // the caller may use its buffer anew while this waits
    const own = tasks.map((task) => (task.body ? { ...task, body: task.body.slice() } : task))
    return new Promise((resolve, reject) => {
      this.#waiting.push({ tasks: own, lease, resolve, reject })
      if (this.#waiting.length === 1) void this.#together()
    })
  }

  async #together(): Promise<void> {
    let group: readonly Waiting[] | undefined
    const take = (): readonly Waiting[] => {
      if (!group) {
        group = this.#waiting
        this.#waiting = []
      }
      return group
    }
    try {
      const outcomes = await this.#write(take)
      for (const [i, { resolve }] of take().entries()) resolve(outcomes[i] ?? [])
    } catch (error) {
      const [first, ...others] = take()
      if (others.length === 0) first?.reject(error)
      else for (const one of take()) await this.#alone(one)
    }
  }

  async #alone(one: Waiting): Promise<void> {
    try {
      const [outcomes = []] = await this.#write(() => [one])
      one.resolve(outcomes)
    } catch (error) {
      one.reject(error)
    }
  }
}
