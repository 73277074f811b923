/**
 * Enqueues tasks through whichever process answers, and writes each acknowledged one down where no kill reaches it.
 *
 * Half of the intents come with a key of the caller's own: what is not answered is asked again under it, and must not become
 * two tasks. The other half get their key from the queue and are asked for once: unanswered, they may be there or not.
 */

import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs'
import type { Ear } from './crew.ts'
import type { Order } from './queue-process.ts'

/** Orders on their way at once. */
const WINDOW = 8

export class Producer implements Ear {
  /** Intent -> task. */
  readonly acknowledged = new Map<string, string>()
  /** Neither yes nor no, and not asked again. */
  readonly unknown: string[] = []
  readonly refusals: string[] = []
  /** Accepted, but in memory only, as the receipt says: no promise is made of these. */
  readonly soft: string[] = []
  asked = 0
  readonly #orders: Order[]
  readonly #total: number
  readonly #file: number
  #open = 0

  constructor(tasks: number, file: string) {
    this.#orders = Array.from({ length: tasks }, (_, at) => {
      const intent = `intent-${String(at + 1).padStart(6, '0')}`
      return { intent, key: at % 2 === 0 ? `key-of-${intent}` : undefined }
    })
    this.#total = tasks
    this.#file = openSync(file, 'a')
  }

  get done(): boolean {
    return this.#orders.length === 0 && this.#open === 0
  }

  /** Gives out orders until `share` of all are. */
  give(share: number, take: (order: Order) => boolean): void {
    while (this.#open < WINDOW && this.#total - this.#orders.length < share * this.#total) {
      const order = this.#orders[0]
      if (!order || !take(order)) return
      this.#orders.shift()
      this.#open++
      this.asked++
    }
  }

  accepted(intent: string, taskId: string, durability: string): void {
    this.#open--
    if (durability !== 'strict') {
      this.soft.push(intent)
      return
    }
    writeSync(this.#file, `${intent} ${taskId}\n`)
    fsyncSync(this.#file)
    this.acknowledged.set(intent, taskId)
  }

  refused(intent: string, message: string): void {
    this.#open--
    this.refusals.push(`${intent}: ${message}`)
  }

  unanswered(orders: readonly Order[]): void {
    for (const order of orders) {
      this.#open--
      if (order.key === undefined) this.unknown.push(order.intent)
      else this.#orders.unshift(order)
    }
  }

  close(): void {
    closeSync(this.#file)
  }
}
