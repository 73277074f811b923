/** Those who have called: what each was given, and that each is given something, once. */

import { RedriveError } from '../../js/api/errors.ts'
import type { EnqueueReceipt } from '../../js/api/methods.ts'
import { IdempotencyConflictError, QueueFullError } from '../../js/api/task-errors.ts'
import { type Book, isLive } from './book.ts'
import { StoreDown } from './faulty-store.ts'
import type { Life } from './process.ts'
import type { Says } from './scenario.ts'
import type { Server } from './server.ts'

/** What was asked for: the intent as the server knows it. */
export interface Called {
  readonly intent: string
  readonly method: string
  readonly origin: string
  /** It may be in no store. */
  readonly isUnstored: boolean
  /** Its turn is the store's to give. @default false */
  readonly isOrdered?: boolean
  /** It asks for a place in an order, and may be in no store. @default false */
  readonly isRefused?: boolean
  /** @default false */
  readonly refreshes?: boolean
  /** Its first attempt may become its task's, whose 401 is answered with fresh credentials. @default false */
  readonly isHandedOver?: boolean
  readonly says?: Says | undefined
}

interface Caller {
  readonly life: Life
  readonly what: string
  settled: boolean
}

export class Callers {
  readonly #book: Book
  readonly #server: Server
  readonly #callers: Caller[] = []

  constructor(book: Book, server: Server) {
    this.#book = book
    this.#server = server
  }

  /** Those of processes that have not crashed, and who wait. */
  get waiting(): readonly string[] {
    return this.#callers.filter(({ life, settled }) => !settled && life.gate.alive).map(({ what }) => what)
  }

  fetch(life: Life, call: Called, work: Promise<Response>): void {
    this.#book.asks(call)
    this.#track(life, `fetch ${call.intent}`, work, (response) => this.#answered(life, call, response))
  }

  enqueue(life: Life, call: Called, work: Promise<EnqueueReceipt>): void {
    this.#book.asks(call)
    this.#track(life, `enqueue ${call.intent}`, work, ({ taskId, durability }) => {
      if (durability === 'strict') this.#acknowledge(taskId)
    })
    work.catch((error: unknown) => this.#refused(life, call, error))
  }

  /** An order to a queue: what becomes of it shows in the store. */
  order(life: Life, what: string, work: Promise<unknown>): void {
    this.#track(life, what, work, () => {})
  }

  /** What a queue shows when it is asked. */
  shown(life: Life, what: string, work: Promise<unknown>): void {
    this.#track(life, what, work, (shown) => this.#book.shows(what, shown))
  }

  #track<T>(life: Life, what: string, work: Promise<T>, then: (value: T) => void): void {
    const book = this.#book
    const caller: Caller = { life, what, settled: false }
    this.#callers.push(caller)
    book.totals.callers++
    work.then(
      (value) => {
        caller.settled = true
        then(value)
      },
      (error: unknown) => {
        caller.settled = true
        book.note(() => `caller ${what}: ${error}`)
        // the words of an error of fetch are the platform's, and its caller's alone
        book.shows(`the error of ${what}`, error instanceof RedriveError ? error : markOf(error))
        if (!isExpected(error)) book.fail('S22', `${what} was rejected with ${error}`)
        else this.#failed(life, what, error)
      },
    )
  }

  #answered(life: Life, { intent }: Called, response: Response): void {
    const book = this.#book
    const { status, headers } = response
    const serial = headers.get('serial')
    book.note(() => `caller fetch ${intent}: ${status}`)
    book.expect(!response.bodyUsed, 'S22', () => `the body of the answer to ${intent} was read already`)
    const taskId = headers.get('redrive-task-id')
    if (serial === null) {
      book.expect(status === 202 && taskId !== null, 'S22', () => `${intent} got ${status} from nobody`)
      if (taskId && headers.get('redrive-durability') === 'strict') this.#acknowledge(taskId)
      return
    }
    const said = this.#server.said.get(serial)
    book.expect(said?.intent === intent, 'S22', () => `${intent} got the answer to ${said?.intent}`)
    book.shows(`the answer to ${intent}`, markOf(response))
    this.#failed(life, `fetch ${intent}`, response)
  }

  /** Who was told that it failed is not gone on for. A store that is slow hears of the end later, and nothing of it is sent until then. */
  #failed(life: Life, what: string, result: unknown): void {
    const mark = markOf(result)
    const known = mark && this.#book.tasks.get(mark.taskId)
    if (!known || known.redriven || !life.gate.alive) return
    if (!isLive(known)) return
    this.#book.note(() => `${what} was told ${mark?.reason}, and its task is to be ended`)
    this.#book.left.set(known.taskId, life)
  }

  /** Who was not let in for want of room is told just that. */
  #refused({ refused, gate }: Life, { intent }: Called, error: unknown): void {
    if (!gate.alive || !refused.has(intent) || this.#book.asked.get(intent)?.times !== 1) return
    this.#book.expect(
      error instanceof QueueFullError,
      'S17',
      () => `${intent} found the store full, and was told: ${error}`,
    )
  }

  #acknowledge(taskId: string): void {
    const book = this.#book
    book.totals.acknowledged++
    book.acknowledged.add(taskId)
    book.note(() => `acknowledged ${taskId}`)
    book.expect(book.tasks.has(taskId), 'S1', () => `${taskId} was acknowledged, and no store has it`)
  }
}

/** What a response or an error says of its task. */
function markOf(result: unknown): { readonly taskId: string; readonly reason: string } | undefined {
  return (result as { readonly redrive?: { readonly taskId: string; readonly reason: string } }).redrive
}

/** What a caller may be told where nothing is wrong with the queue. */
function isExpected(error: unknown): boolean {
  if (error instanceof IdempotencyConflictError || error instanceof StoreDown) return true
  if (error instanceof RedriveError) return error.code !== 'core_unreachable'
  if (error instanceof DOMException) return error.name === 'AbortError' || error.name === 'TimeoutError'
  return error instanceof TypeError && error.message.startsWith('fetch failed')
}
