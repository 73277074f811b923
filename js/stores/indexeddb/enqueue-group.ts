/**
 * Group commit: enqueues that arrive while one is being written go together into the next transaction, and share its wait
 * for the disk. No timer: the first of them waits for nothing. Where a group fails each is done alone, so one fails alone.
 */

import type { Enqueued } from '../../api/store.ts'
import { type Batch, enqueue } from '../engine/enqueue.ts'
import { runLater } from '../engine/step.ts'
import { StaleSnapshot } from './state.ts'
import type { Transaction } from './transaction.ts'

/** Most calls of one transaction: thousands at once would keep the page from running for as long as they take. */
const MOST = 256

interface Waiting extends Batch {
  readonly resolve: (outcomes: readonly Enqueued[]) => void
  readonly reject: (error: unknown) => void
}

/** Asks for the batches when their turn has come. */
type Write = (batches: () => readonly Batch[]) => Promise<readonly (readonly Enqueued[])[]>

export class EnqueueGroup {
  readonly #write: Write
  readonly #waiting: Waiting[] = []

  constructor(write: Write) {
    this.#write = write
  }

  add(tasks: Batch['tasks'], lease: Batch['lease']): Promise<readonly Enqueued[]> {
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
        group = this.#waiting.splice(0, MOST)
        if (this.#waiting.length > 0) void this.#together()
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

/** Enqueues without looking first where it may. The database cannot refuse a task that would not be stored: then all is done again, with a look. */
export async function enqueueAll(tx: Transaction, batches: readonly Batch[]): Promise<Enqueued[][]> {
  const outcomes = await runLater(enqueue(tx, batches))
  const isStored = outcomes.flat().every(({ outcome }) => outcome === 'stored')
  if (!tx.hasLooked && !isStored) throw new StaleSnapshot()
  return outcomes
}
