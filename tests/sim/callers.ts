/** Those who have called: what each was given, and that each is given something, once. */

import { IdempotencyConflictError, RedriveError } from '../../js/api/errors.ts'
import type { EnqueueReceipt } from '../../js/api/methods.ts'
import { type Book, isLive } from './book.ts'
import { StoreDown } from './faulty-store.ts'
import type { Life } from './process.ts'
import type { Server } from './server.ts'

/** What was asked for: the intent as the server knows it. */
export interface Called {
  readonly intent: string
  readonly method: string
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
    this.#track(life, `fetch ${call.intent}`, work, (response) => this.#answered(life, call, response))
  }

  enqueue(life: Life, call: Called, work: Promise<EnqueueReceipt>): void {
    this.#track(life, `enqueue ${call.intent}`, work, ({ taskId, durability }) => {
      if (durability === 'strict') this.#acknowledge(taskId)
    })
  }

  /** An order to a queue: what becomes of it shows in the store. */
  order(life: Life, what: string, work: Promise<unknown>): void {
    this.#track(life, what, work, () => {})
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
        if (!isExpected(error)) book.fail('S22', `${what} was rejected with ${error}`)
        else this.#failed(life, what, error)
      },
    )
  }

  #answered(life: Life, { intent, method }: Called, response: Response): void {
    const book = this.#book
    const { status, headers } = response
    const serial = headers.get('serial')
    book.note(() => `caller fetch ${intent}: ${status}`)
    book.expect(!response.bodyUsed, 'S22', () => `the body of the answer to ${intent} was read already`)
    const taskId = headers.get('redrive-task-id')
    if (serial === null) {
      book.expect(status === 202 && taskId !== null, 'S22', () => `${intent} got ${status} from nobody`)
      if (taskId && method !== 'GET' && !life.inMemory) this.#acknowledge(taskId)
      return
    }
    const said = this.#server.said.get(serial)
    book.expect(said?.intent === intent, 'S22', () => `${intent} got the answer to ${said?.intent}`)
    this.#failed(life, `fetch ${intent}`, response)
  }

  /** Who was told that it failed is not gone on for. */
  #failed(life: Life, what: string, result: unknown): void {
    const mark = (result as { readonly redrive?: { readonly taskId: string; readonly reason: string } }).redrive
    const known = mark && this.#book.tasks.get(mark.taskId)
    if (!known || known.redriven || !life.gate.alive) return
    this.#book.expect(!isLive(known), 'S22', () => `${what} was told ${mark?.reason}, and its task goes on`)
  }

  #acknowledge(taskId: string): void {
    const book = this.#book
    book.totals.acknowledged++
    book.acknowledged.add(taskId)
    book.note(() => `acknowledged ${taskId}`)
    book.expect(book.tasks.has(taskId), 'S1', () => `${taskId} was acknowledged, and no store has it`)
  }
}

/** What a caller may be told where nothing is wrong with the queue. */
function isExpected(error: unknown): boolean {
  if (error instanceof IdempotencyConflictError || error instanceof StoreDown) return true
  if (error instanceof RedriveError) return error.code !== 'core_unreachable'
  if (error instanceof DOMException) return error.name === 'AbortError' || error.name === 'TimeoutError'
  return error instanceof TypeError && error.message === 'fetch failed'
}
