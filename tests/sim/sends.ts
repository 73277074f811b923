/** What a process sends, held against what it may: each attempt of its own needs a lease that nobody has used, still in force. */

import type { Book } from './book.ts'
import type { Gate } from './gate.ts'
import type { Process } from './process.ts'
import type { Request, Server } from './server.ts'

/** The queue sends its own attempts so, and callers' never. */
const isOwn = (init: RequestInit | undefined) => init?.redirect === 'manual'

export class Sends {
  readonly #book: Book
  readonly #process: Process
  readonly #owner: string
  /** Tokens that have arrived and were not used to send, by task. */
  readonly #granted = new Map<string, number>()
  pausedAll = false
  readonly paused: Set<string> = new Set()

  constructor(book: Book, process: Process, owner: string) {
    this.#book = book
    this.#process = process
    this.#owner = owner
  }

  granted(taskId: string, token: number): void {
    this.#granted.delete(taskId)
    this.#granted.set(taskId, token)
  }

  fetch(server: Server, gate: Gate, url: string, init: RequestInit | undefined): Promise<Response> {
    if (!gate.alive) return new Promise(() => {})
    const headers = new Headers(init?.headers)
    const { origin, searchParams } = new URL(url)
    const { intent = searchParams.get('intent') ?? '', principal = searchParams.get('principal') ?? '' } = bodyOf(init)
    const request: Request = {
      intent,
      principal,
      key: headers.get('idempotency-key'),
      origin,
      method: init?.method ?? 'GET',
    }
    if (isOwn(init)) this.#check(request, headers.get('authorization'))
    return server.take(request, gate, init?.signal)
  }

  #check({ intent, principal, origin, method }: Request, authorization: string | null): void {
    const book = this.#book
    const who = `${this.#owner} sends ${intent}`
    book.expect(
      principal === this.#process.principal,
      'S16',
      () => `${who} of ${principal} as ${this.#process.principal}`,
    )
    book.expect(authorization === `Bearer ${principal}`, 'S16', () => `${who} of ${principal} with ${authorization}`)
    book.expect(!this.pausedAll && !this.paused.has(origin), 'S8', () => `${who}, and is paused`)
    book.expect(this.#process.life?.closing !== true, 'S8', () => `${who}, and is closing`)
    // what is in memory needs no lease
    if (method === 'GET' || this.#process.life?.inMemory) return
    // the youngest: a cancelled task may have left its token behind, and its key to another
    const taskId = [...this.#granted.keys()].findLast((id) => {
      const known = book.tasks.get(id)
      return known?.intent === intent && known.principal === principal
    })
    const token = this.#granted.get(taskId ?? '')
    if (taskId === undefined || token === undefined) {
      book.fail('S3', `${who} without a lease`)
      return
    }
    this.#granted.delete(taskId)
    const lease = book.leases.get(token)
    const heldMs = lease ? book.time.elapsed - lease.at : Number.POSITIVE_INFINITY
    book.expect(heldMs <= (lease?.forMs ?? 0), 'S3', () => `${who} ${heldMs} ms after its lease was given`)
  }
}

function bodyOf(init: RequestInit | undefined): { readonly intent?: string; readonly principal?: string } {
  const { body } = init ?? {}
  if (typeof body === 'string') return JSON.parse(body)
  if (body instanceof Uint8Array) return JSON.parse(new TextDecoder().decode(body))
  return {}
}
