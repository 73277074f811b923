/**
 * Asks for tasks through whichever process answers, and writes down what it asked and what it was told, where no kill reaches it.
 *
 * Half of the intents come with a key of the caller's own: what is not answered is asked again under it, and must not become
 * two tasks. The others get their key from the queue and are asked for once: unanswered, they may be there or not. Now and then
 * a key that was taken is used again, for the same request and for another one, and a task is cancelled.
 */

import { appendFileSync } from 'node:fs'
import type { Ear } from '../crew.ts'
import { chance } from '../options.ts'
import type { Order } from '../queue-process.ts'
import type { Request } from './requests.ts'

/** Requests on their way at once. */
const WINDOW = 8
/** What was refused and may be asked again waits so long. */
const AGAIN_MS = 300
const HOSTS = ['127.0.0.1', 'localhost']
const ORDERS = 6
/** Shares of the intents: those in an order; of those acknowledged, whose key is used again, and which are cancelled. */
const ORDERED_SHARE = 0.15
const REUSED_SHARE = 0.1
const CANCELLED_SHARE = 0.08

/** What became of a request, as its caller knows it. */
export interface Call {
  readonly request: Request
  readonly askedAt: number
  endedAt: number
  /** 'unknown': its process is gone, or says that it does not know. */
  outcome: 'open' | 'accepted' | 'refused' | 'unknown'
  taskId?: string
  /** Or what a cancel was told. */
  durability?: string
  code?: string
  message?: string
}

/** Codes after which the task may be in the store. */
const UNSURE = new Set(['NOT_DURABLE', 'STORAGE_UNAVAILABLE', 'QUEUE_CLOSED'])
const FULL = 'STORAGE_FULL'

export class Callers implements Ear {
  readonly calls: Call[] = []
  readonly #waiting: Request[]
  readonly #total: number
  readonly #file: string
  readonly #random: () => number
  readonly #open = new Map<string, Call>()
  #later = 0
  #extra = 0

  constructor(tasks: number, seed: number, file: string) {
    const random = chance(seed ^ 0x5eed)
    this.#random = random
    this.#total = tasks
    this.#file = file
    this.#waiting = Array.from({ length: tasks }, (_, at): Request => {
      const intent = `intent-${String(at + 1).padStart(6, '0')}`
      return {
        intent,
        kind: 'new',
        key: at % 2 === 0 ? `key-of-${intent}` : undefined,
        body: { intent },
        host: HOSTS[Math.floor(random() * HOSTS.length)] as string,
        orderKey: random() < ORDERED_SHARE ? `order-${Math.floor(random() * ORDERS)}` : undefined,
      }
    })
  }

  get done(): boolean {
    return this.#waiting.length === 0 && this.#open.size === 0 && this.#later === 0
  }

  get acknowledged(): number {
    return this.calls.filter(({ request, outcome }) => request.kind === 'new' && outcome === 'accepted').length
  }

  /** Gives out requests until `share` of all are. */
  give(share: number, take: (order: Order) => boolean): void {
    const given = () => this.#total + this.#extra - this.#waiting.length
    while (this.#open.size < WINDOW && given() < share * (this.#total + this.#extra)) {
      const request = this.#waiting[0]
      if (!request) return
      const call: Call = { request, askedAt: Date.now(), endedAt: Number.POSITIVE_INFINITY, outcome: 'open' }
      if (!take(request)) return
      this.#waiting.shift()
      this.#open.set(request.intent, call)
      this.calls.push(call)
      this.#note(call)
    }
  }

  accepted(intent: string, taskId: string, durability: string): void {
    const call = this.#end(intent, 'accepted', { taskId, durability })
    if (call?.request.kind === 'new' && durability !== 'memory') this.#goOnWith(call.request, taskId)
  }

  refused(intent: string, message: string, code = ''): void {
    const call = this.#end(intent, UNSURE.has(code) ? 'unknown' : 'refused', { message, code })
    // what there was no room for, and has no key, is given up: it must not be sent
    if (call && (call.outcome === 'unknown' || code === FULL)) this.#askAgain(call.request)
  }

  unanswered(orders: readonly Order[]): void {
    for (const { intent } of orders) {
      const call = this.#end(intent, 'unknown', {})
      if (call) this.#askAgain(call.request)
    }
  }

  #askAgain(request: Request): void {
    if (request.key === undefined || request.kind === 'cancel') return
    this.#later++
    setTimeout(() => {
      this.#later--
      this.#waiting.unshift(request)
    }, AGAIN_MS)
  }

  #goOnWith({ intent, key, ...rest }: Request, taskId: string): void {
    const draw = this.#random()
    if (key === undefined) {
      if (draw < CANCELLED_SHARE) this.#ask({ ...rest, intent: `${intent}?cancel`, key, kind: 'cancel', taskId })
    } else if (draw < REUSED_SHARE) this.#ask({ ...rest, intent: `${intent}?again`, key, kind: 'again', taskId })
    else if (draw < 2 * REUSED_SHARE) {
      const body = { intent: `${intent}?conflict`, of: intent }
      this.#ask({ ...rest, intent: `${intent}?conflict`, key, kind: 'conflict', body, taskId })
    }
  }

  #ask(request: Request): void {
    this.#extra++
    this.#waiting.splice(Math.floor(this.#random() * Math.min(8, this.#waiting.length)), 0, request)
  }

  #end(intent: string, outcome: Call['outcome'], told: Partial<Call>): Call | undefined {
    const call = this.#open.get(intent)
    if (!call) return undefined
    this.#open.delete(intent)
    Object.assign(call, told, { outcome, endedAt: Date.now() })
    this.#note(call)
    return call
  }

  /** On a machine that does not fail, what is written outlives all that this run kills. */
  #note({ request: { intent, kind, key, orderKey }, outcome, taskId, durability, code, message }: Call): void {
    const told = { at: Date.now(), who: 'caller', what: outcome, intent, kind, key, orderKey }
    appendFileSync(this.#file, `${JSON.stringify({ ...told, taskId, durability, code, message })}\n`)
  }
}
