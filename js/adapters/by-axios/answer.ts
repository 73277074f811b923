/** An answer of axios, read or still to be read. The caller's `validateStatus` is asked about it once, at the end. */

import type { AxiosResponse } from 'axios'
import type { RedriveMark } from '../../api/mark.ts'
import { type RestTerms, readRest, UNREAD_BYTES } from '../../call/discard.ts'
import { KEPT_BYTES } from '../../call/read-body.ts'
import { mark, type RepeatAnswer } from '../../call/transport.ts'
import { StreamedBody } from './body.ts'

export type ValidateStatus = (status: number) => boolean

/** Reads a body to its end, in the form that its caller wants. `mostMs`: what has come by then is all of it; FOREVER: the attempt is limited itself. */
export type ReadBody = (body: StreamedBody, response: AxiosResponse, mostMs: number) => Promise<unknown>

/** Uses of a body that is still to come. */
export interface BodyActs {
  /** Set where it is a stream for the sake of the queue, and not of the caller. */
  readonly read: ReadBody | undefined
  /** How long it may take once the attempt is over; FOREVER: there is no limit. */
  readonly bodyMs: number
  /** Ends the request. */
  abort(): void
  /** A body that was read to its end, in the bytes in which it came. */
  whole?: StreamedBody | undefined
}

const NULL_BODY: ReadonlySet<number> = new Set([204, 205, 304])

const nameOf = (value: unknown): string => Object.prototype.toString.call(value)
const BYTES = /^\[object (ArrayBuffer|Blob)\]/

export class AxiosAnswer implements RepeatAnswer {
  redirectRefused = false
  becameGet = false
  readonly #response: AxiosResponse
  readonly #error: unknown
  readonly #validate: ValidateStatus | undefined
  readonly #readBody: ReadBody | undefined
  readonly #bodyMs: number
  /** A body that is still to be read; undefined: axios has read it. */
  readonly #body: StreamedBody | undefined
  readonly #whole: StreamedBody | undefined
  #resting: Promise<void> | undefined
  #isWhole = false
  #isGiven = false
  #delivered: Promise<AxiosResponse> | undefined

  /** `error`: axios would reject with it; without one the answer is good. `validate`: the caller's rule, still to be asked. */
  constructor(
    response: AxiosResponse,
    { read, bodyMs, abort, whole }: BodyActs,
    error?: unknown,
    validate?: ValidateStatus,
  ) {
    this.#response = response
    this.#error = error
    this.#validate = validate
    this.#readBody = read
    this.#bodyMs = bodyMs
    this.#whole = whole
    const { data } = response
    const isResponse = Object(data)[Symbol.toStringTag] === 'Response'
    this.#body = StreamedBody.of(isResponse ? data.body : data, abort)
  }

  /** A browser shows nothing of it. */
  get isOpaque(): boolean {
    return this.#response.status === 0
  }

  get status(): number {
    return this.#response.status || 200
  }

  header(name: string): string | null {
    const { headers } = this.#response
    // adapters give names in any case
    const value: unknown = typeof headers.get === 'function' ? headers.get(name) : headers[name]
    return typeof value === 'string' ? value : null
  }

  eachHeader(take: (name: string, value: string) => void): void {
    const { headers, request } = this.#response
    for (const [name, value] of Object.entries(headers)) if (typeof value === 'string') take(name, value)
    // Node keeps one line of it there, the first
    for (const value of request?.res?.headersDistinct?.['retry-after'] ?? []) take('retry-after', value)
  }

  clone(): null {
    return null
  }

  /** The parts that a Response has no room for. */
  get head(): Pick<AxiosResponse, 'headers' | 'request'> {
    const { headers, request } = this.#response
    return { headers: typeof headers.concat === 'function' ? headers.concat() : { ...headers }, request }
  }

  share(isLast: boolean): Response | null {
    const { status, statusText, headers, data } = this.#response
    const body = this.#body ?? this.#whole
    const isKnown = data == null || typeof data === 'string' || ArrayBuffer.isView(data) || BYTES.test(nameOf(data))
    if (!body && !isKnown) return null
    const lines = Object.entries(headers).flatMap(([name, value]) =>
      [value ?? []].flat().map((one) => [name, `${one}`]),
    )
    try {
      const content = NULL_BODY.has(status) ? null : body ? body.copy(isLast) : data
      return new Response(content, { status, statusText, headers: lines as [string, string][] })
    } catch {
      // of a status, or with a header, that no Response can be made with
      return null
    }
  }

  /** Notes where a redirect has led a request to `url`. The http adapter tells the method of the last hop, XMLHttpRequest where that led, the fetch adapter neither. */
  seeHops({ origin, pathname, search }: URL): this {
    const { request, config } = this.#response
    const sent = config?.method ?? 'get'
    // a browser leaves the URL's user in it
    const from = request?.responseURL?.replace(/^(\w+:\/\/)[^/?]*@/, '$1')
    const isElsewhere = !!from && from !== origin + pathname + search
    const isMadeGet = request?.method === 'GET' && !/^(get|head)$/i.test(sent)
    this.becameGet ||= isMadeGet || (isElsewhere && /^(post|patch)$/i.test(sent))
    return this
  }

  refuseRedirect(): this {
    this.redirectRefused = true
    return this
  }

  deliver(redrive: RedriveMark | null): AxiosResponse | Promise<AxiosResponse> {
    const body = this.#body
    if (!body) return this.#settle(redrive)
    if (this.#readBody) {
      this.#delivered ??= this.#readBody(body, this.#response, this.#bodyMs).then((data) => {
        this.#response.data = data
        return mark(this.#settle(redrive), redrive)
      })
      return this.#delivered
    }
    // the stream that axios lays around fetch's passes no cancel on while it reads ahead
    if (!this.#isGiven && (this.#resting || body.isShared || this.#response.data.getReader))
      this.#response.data = body.again()
    this.#isGiven = true
    return this.#settle(redrive)
  }

  rest(isKept: boolean, terms: RestTerms): Promise<void> | undefined {
    if (this.#body && !this.#isGiven) this.#resting ??= this.#rest(this.#body, isKept, terms)
    return this.#resting
  }

  /** Ends a body that is still to come. */
  discard(): void {
    if (this.#body && !this.#isWhole && !this.#isGiven && !this.#delivered) this.#body.discard()
  }

  async #rest(body: StreamedBody, isKept: boolean, terms: RestTerms): Promise<void> {
    const reader = { read: () => body.read(), cancel: async () => isKept || body.discard() } as const
    this.#isWhole = await readRest(reader, isKept ? KEPT_BYTES : UNREAD_BYTES, terms).isWhole
  }

  #settle(redrive: RedriveMark | null): AxiosResponse {
    if (this.#error === undefined || this.#validate?.(this.#response.status)) return this.#response
    throw mark(this.#error, redrive)
  }
}
