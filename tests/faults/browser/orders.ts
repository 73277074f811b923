/** What tabs are asked for, and who keeps count of it. */

import type { Ear } from '../crew.ts'
import type { From, Settled, Told } from './told.ts'

export interface Order {
  readonly intent: string
  /** The caller's own; undefined: the queue makes one. */
  readonly key: string | undefined
  readonly via: 'enqueue' | 'await' | 'defer'
  /** Its options. */
  readonly task?: object
}

/** `queue.fetch`, of which there may be no task in the end: a first attempt that succeeds leaves none. */
export class Calls {
  /** Intent -> task: those that became one. */
  readonly acknowledged: Map<string, string> = new Map()
  /** Became a task in memory only, as the page had said. */
  readonly soft: string[] = []
  /** Settled in a way in which no caller may be. */
  readonly wrong: string[] = []
  asked = 0
  settled = 0
  /** Intent -> when: its caller was told that the circuit is open, as `docs/gates.md` has it. The task, if there was one, has ended. */
  readonly turnedAway: Map<string, number> = new Map()
  /** Intent -> the document that has an answer without its body. */
  readonly bodiless: Map<string, string> = new Map()
  /** Told that another tab had the answer. */
  elsewhere = 0
  /** Their document was gone. */
  orphans = 0
  readonly #orders: Order[]
  readonly #total: number
  readonly #open = new Map<string, Order>()
  readonly #given = new Set<string>()

  constructor(calls: number) {
    this.#orders = Array.from({ length: calls }, (_, at) => {
      const intent = `call-${String(at + 1).padStart(6, '0')}`
      // one in three is content to know that it will be delivered
      return { intent, key: at % 4 === 0 ? `key-of-${intent}` : undefined, via: at % 3 === 0 ? 'defer' : 'await' }
    })
    this.#total = calls
  }

  /** All were asked for, and nobody waits. */
  get done(): boolean {
    return this.#orders.length === 0 && this.#open.size === 0
  }

  /** Who waits still. */
  get waiting(): readonly string[] {
    return [...this.#open.keys()]
  }

  give(share: number, take: (order: Order) => boolean): void {
    while (this.#total - this.#orders.length < share * this.#total) {
      const order = this.#orders[0]
      if (!order || !take(order)) return
      this.#orders.shift()
      this.add(order)
    }
  }

  /** One more, not of the list. */
  add(order: Order): void {
    this.#open.set(order.intent, order)
    this.#given.add(order.intent)
    this.asked++
  }

  told(told: Told): void {
    if (told.what === 'settled') this.#settle(told)
    // what was enqueued has its receipt
    if (told.what !== 'queued' || !this.#given.has(told.intent)) return
    if (told.durability === 'strict') this.acknowledged.set(told.intent, told.taskId)
    else this.soft.push(told.intent)
  }

  unanswered(orders: readonly Order[]): void {
    for (const { intent } of orders) if (this.#open.delete(intent)) this.orphans++
  }

  #settle({ intent, with: how, of, message = '', reason = '', hasNoBody = false, life }: Settled & From): void {
    const order = this.#open.get(intent)
    if (!order) return
    this.#open.delete(intent)
    this.settled++
    if (how === 'SettledElsewhereError') this.elsewhere++
    else if (hasNoBody) this.bodiless.set(intent, life)
    else if (order.via === 'await' && (reason === 'circuit_open' || how === 'CircuitOpenError')) this.#turnAway(intent)
    else if (how !== 200 && !(how === 202 && order.via === 'defer')) {
      this.wrong.push(`${intent}: ${how} ${message} ${reason}`)
    } else if (how === 200 && of !== intent) this.wrong.push(`${intent} was given the answer to ${of}`)
  }

  #turnAway(intent: string): void {
    this.turnedAway.set(intent, Date.now())
    this.acknowledged.delete(intent)
  }
}

/** Tells the one or the other. */
export function hear(told: Told, producer: Ear, calls: Calls): void {
  if (told.what === 'accepted') producer.accepted(told.intent, told.taskId, told.durability)
  else if (told.what === 'refused') producer.refused(told.intent, told.message)
  else calls.told(told)
}

export function leaveUnanswered(orders: readonly Order[], producer: Ear, calls: Calls): void {
  producer.unanswered(orders.filter(({ via }) => via === 'enqueue'))
  calls.unanswered(orders.filter(({ via }) => via !== 'enqueue'))
}
