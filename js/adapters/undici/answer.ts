/** An answer of undici as a task reads it: its head, and of its body as much as is needed. */

import { type RestTerms, readRest, UNREAD_BYTES } from '../../call/discard.ts'
import { KEPT_BYTES } from '../../call/read-body.ts'
import type { RepeatAnswer } from '../../call/transport.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Downstream } from './downstream.ts'
import type { Exchange } from './exchange.ts'

const NULL_BODY: ReadonlySet<number> = new Set([204, 205, 304])

export class UndiciAnswer implements RepeatAnswer {
  /** A dispatcher follows no redirects: each hop is a request of its own. */
  readonly redirectRefused = false
  readonly #exchange: Exchange
  #copy: Response | undefined
  #resting: Promise<void> | undefined
  #isWhole = false
  #isGiven = false

  constructor(exchange: Exchange) {
    this.#exchange = exchange
  }

  get status(): number {
    return this.#exchange.status
  }

  header(name: string): string | null {
    const value = this.#exchange.headers[name.toLowerCase()]
    return Array.isArray(value) ? value.join(', ') : (value ?? null)
  }

  eachHeader(take: (name: string, value: string) => void): void {
    for (const [name, value = []] of Object.entries(this.#exchange.headers)) take(name, [value].flat().join(', '))
  }

  /** Its reader gets it by `giveTo`. */
  deliver(): this {
    this.#isGiven = true
    return this
  }

  readAhead(clock: Clock, { signal }: AbortController): () => void {
    this.rest(true, { clock, signal })
    return () => {}
  }

  giveTo(downstream: Downstream): void {
    this.#exchange.giveTo(downstream)
  }

  clone(): Response | null {
    const { status, headers } = this.#exchange
    try {
      const body = NULL_BODY.has(status) ? null : this.#exchange.copy()
      const pairs = Object.entries(headers).flatMap(([name, value]) => [value ?? []].flat().map((one) => [name, one]))
      this.#copy = new Response(body, { status, headers: pairs as [string, string][] })
      return this.#copy
    } catch {
      // of a status, or with a header, that no Response can be made with
      return null
    }
  }

  rest(isKept: boolean, terms: RestTerms): Promise<void> | undefined {
    if (!this.#isGiven) this.#resting ??= this.#rest(isKept, terms)
    return this.#resting
  }

  discard(): void {
    if (this.#isWhole || this.#isGiven) return
    // a copy that no listener reads; one that is read refuses, and its reader goes on
    if (this.#copy?.body?.locked === false) void this.#copy.body.cancel()
    this.#exchange.drop()
  }

  async #rest(isKept: boolean, terms: RestTerms): Promise<void> {
    const exchange = this.#exchange
    const reader = { read: () => exchange.read(), cancel: async () => isKept || exchange.drop() } as const
    this.#isWhole = await readRest(reader, isKept ? KEPT_BYTES : UNREAD_BYTES, terms).isWhole
  }
}
