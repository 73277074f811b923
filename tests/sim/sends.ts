/** What a process sends, held against what it may: each attempt of its own needs a lease that nobody has used, still in force. */

import type { Book } from './book.ts'
import type { Gate } from './gate.ts'
import type { Network, Process } from './process.ts'
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
  readonly #network: Network | undefined
  /** What fails when the network does. */
  readonly #open = new Set<() => void>()
  /** Who is there, as far as this process has been told by others. */
  #session: string | null | undefined

  constructor(book: Book, process: Process, owner: string, network?: Network) {
    this.#book = book
    this.#process = process
    this.#owner = owner
    this.#network = network
  }

  /** It was told who is there now. */
  follow(session: string | null | undefined): void {
    this.#session = session
  }

  /** The network is gone. */
  cut(): void {
    const open = [...this.#open]
    this.#open.clear()
    for (const fail of open) fail()
  }

  granted(taskId: string, token: number): void {
    this.#granted.delete(taskId)
    this.#granted.set(taskId, token)
  }

  fetch(server: Server, gate: Gate, url: string, init: RequestInit | undefined): Promise<Response> {
    if (!gate.alive) return new Promise(() => {})
    // nothing of it leaves
    if (init?.signal?.aborted) return Promise.reject(init.signal.reason)
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
    const token = isOwn(init) ? this.#check(request, headers.get('authorization')) : undefined
    const answer = this.#network
      ? this.#overNetwork(request, server, gate, init?.signal)
      : server.take(request, gate, init?.signal)
    if (token !== undefined) this.#follow(token, answer)
    return answer
  }

  #follow(token: number, answer: Promise<unknown>): void {
    const { running, ended, time } = this.#book
    running.add(token)
    const end = () => {
      running.delete(token)
      ended.set(token, time.elapsed)
    }
    answer.then(end, end)
  }

  #overNetwork(
    request: Request,
    server: Server,
    gate: Gate,
    signal: AbortSignal | null | undefined,
  ): Promise<Response> {
    const failed = () => new TypeError('fetch failed')
    return new Promise((resolve, reject) => {
      const fail = () => gate.enter(() => reject(failed()))
      if (!this.#network?.online) return fail()
      this.#open.add(fail)
      server
        .take(request, gate, signal)
        .then(resolve, reject)
        .finally(() => this.#open.delete(fail))
    })
  }

  /** Gives the token that it is sent under. */
  #check({ intent, principal, origin, method }: Request, authorization: string | null): number | undefined {
    const book = this.#book
    const who = `${this.#owner} sends ${intent}`
    book.expect(
      principal === this.#process.principal,
      'S16',
      () => `${who} of ${principal} as ${this.#process.principal}`,
    )
    const session = this.#session
    const isThere = session === undefined || session === principal
    book.expect(isThere, 'S16', () => `${who} of ${principal}, and was told that ${session} is there`)
    book.expect(authorization === `Bearer ${principal}`, 'S16', () => `${who} of ${principal} with ${authorization}`)
    book.expect(!this.pausedAll && !this.paused.has(origin), 'S8', () => `${who}, and is paused`)
    book.expect(this.#process.life?.closing !== true, 'S8', () => `${who}, and is closing`)
    // what is in memory needs no lease
    if (method === 'GET' || this.#process.life?.inMemory) return undefined
    // the youngest: a cancelled task may have left its token behind, and its key to another
    const taskId = [...this.#granted.keys()].findLast((id) => {
      const known = book.tasks.get(id)
      return known?.intent === intent && known.principal === principal
    })
    const token = this.#granted.get(taskId ?? '')
    if (taskId === undefined || token === undefined) {
      book.fail('S3', `${who} without a lease`)
      return undefined
    }
    this.#granted.delete(taskId)
    const lease = book.leases.get(token)
    const heldMs = lease ? book.time.elapsed - lease.at : Number.POSITIVE_INFINITY
    book.expect(heldMs <= (lease?.forMs ?? 0), 'S3', () => `${who} ${heldMs} ms after its lease was given`)
    return token
  }
}

function bodyOf(init: RequestInit | undefined): { readonly intent?: string; readonly principal?: string } {
  const { body } = init ?? {}
  if (typeof body === 'string') return JSON.parse(body)
  if (body instanceof Uint8Array) return JSON.parse(new TextDecoder().decode(body))
  return {}
}
