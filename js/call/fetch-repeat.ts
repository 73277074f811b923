/**
 * A request by fetch as a task repeats it: with fresh credentials, and held to the origin its caller named. It comes with
 * the core, since a page whose calls succeed repeats none.
 */

import type { ExpectedAnswer } from '../api/policy.ts'
import { OUTCOME_OWN_ERROR, OUTCOME_REDIRECT_REFUSED, OUTCOME_RESPONSE } from '../core/generated/codes.ts'
import type { FirstPolicy } from '../options/first-policy.ts'
import { assertNotAborted } from '../platform/abort.ts'
import { systemClock } from '../platform/clock.ts'
import { acceptedForm } from './accepted.ts'
import type { Finished } from './attempt.ts'
import type { Call } from './call.ts'
import { bodyLetGo, type Rest, type RestTerms, readRest, UNREAD_BYTES } from './discard.ts'
import { copyOf, FetchAnswer, FetchTransport, type Sendable, type SentInit } from './fetch-transport.ts'
import { isOwnError } from './own-error.ts'
import { cancelBody, KEPT_BYTES } from './read-body.ts'
import { assertMaySend, becomesGet, dropBody, MAX_REDIRECTS, mayLeave, nextHop, REDIRECT } from './redirects.ts'
import {
  type Acceptance,
  type Answer,
  type AttemptInit,
  type BodyContent,
  type FetchForm,
  laidOver,
  type RepeatAnswer,
  type Repeatable,
} from './transport.ts'

/** Options of fetch that a store keeps, or that an attempt has of its own. For others, such as `dispatcher` or `cf`, the call itself is needed. */
const NOT_LOST: ReadonlySet<string> = new Set([
  ...['method', 'headers', 'body', 'signal', 'redrive', 'duplex', 'keepalive', 'window'],
  ...['credentials', 'mode', 'cache', 'redirect', 'referrer', 'referrerPolicy', 'integrity'],
])

/** The place where a call has the GET that a redirect has made of it: see `Repeatable`. */
export const answeredOf = ({ transport }: Pick<Call, 'transport'>): Pick<Repeatable, 'seeOther'> =>
  transport instanceof FetchTransport ? transport.sendable : transport

/** The request of a call as a task makes it. */
export function repeatableOf({ transport }: Pick<Call, 'transport'>): Repeatable {
  return transport instanceof FetchTransport ? new FetchRepeat(transport.sendable) : transport
}

/** An ended attempt with its answer as a task reads it, or what its error says of its end; a first attempt's has to be adopted. */
export function adopted(call: Call, finished: Finished): Finished<RepeatAnswer> {
  const repeatable = repeatableOf(call)
  const answer = finished.answer && repeatable.adopt(finished.answer)
  if (answer) return { ...finished, answer, outcome: outcomeOfAnswer(call, answer) }
  // by an error of the caller's own making, which says nothing about its server
  return { ...finished, answer, ...(repeatable.isFinal(finished.error) && { outcome: OUTCOME_OWN_ERROR }) }
}

/** Whether a status is that of a failure, under a policy. */
export const fails = ({ retryableStatusCodes }: FirstPolicy, status: number): boolean =>
  status >= 400 || retryableStatusCodes.includes(status)

/**
 * How an attempt has ended that was answered. A redirect that makes a GET of a request has answered it: where that GET fails, and cannot
 * be repeated, nothing is.
 */
export function outcomeOfAnswer(call: Pick<Call, 'policy' | 'transport'>, answer: RepeatAnswer): number {
  const { policy } = call
  const { status, redirectRefused } = answer
  const becameGet = answer.becameGet && answeredOf(call).seeOther === undefined
  return redirectRefused || (fails(policy, status) ? becameGet : !meets(policy.expect, answer))
    ? OUTCOME_REDIRECT_REFUSED
    : OUTCOME_RESPONSE
}

function meets({ status, contentType }: ExpectedAnswer = {}, answer: RepeatAnswer): boolean {
  const type = answer.header('content-type')?.split(';', 1)[0]?.trim().toLowerCase()
  return (status?.includes(answer.status) ?? true) && (contentType === undefined || contentType.toLowerCase() === type)
}

/** Throws where an argument of fetch is wrong. fetch gives a TypeError for that and for a lost connection; only this tells them apart. */
export function assertSendable(url: string, init: RequestInit): void {
  if (isPlain(init)) return
  // whether there is a body matters, its content does not
  new Request(url, { ...init, body: init.body == null ? null : '', signal: null })
}

/** Methods that every platform sends, with a body and without one. */
const [WITH_BODY, WITHOUT] = [new Set(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']), new Set(['GET', 'HEAD'])]
/** Parts of a request that were read before: what is wrong with them was reported then. */
const WAS_READ: ReadonlySet<string> = new Set(['method', 'headers', 'body', 'json', 'signal', 'redrive'])

/** Whether nothing can be wrong with a request. A Request made of it would tell, and cost more than all else that a task takes. */
function isPlain(init: RequestInit): boolean {
  const { method = 'GET', body } = init
  const isKnown = WITH_BODY.has(method) || (WITHOUT.has(method) && body == null)
  return isKnown && Object.keys(init).every((name) => WAS_READ.has(name))
}

/** Repeats the request that a `FetchTransport` has sent first. */
class FetchRepeat implements Repeatable {
  readonly #sendable: Sendable

  constructor(sendable: Sendable) {
    this.#sendable = sendable
  }

  async send(attempt: AttemptInit): Promise<RepeatAnswer> {
    const { overlay, signal } = attempt
    const { fetch, url, init: own, seeOther } = this.#sendable
    const headers = overlay ? laidOver(own.headers, overlay) : own.headers
    if (seeOther !== undefined) {
      const init = { ...asGet({ ...own, headers }, attempt), signal, redirect: 'manual' } as const
      return withinOrigin(heard(await fetch(seeOther, init)), { fetch, url: seeOther, init }, attempt, this.#sendable)
    }
    // as fetch reads it, and read once: it may be anything that is a text in the end
    const redirect = `${own.redirect ?? 'follow'}` as RequestRedirect
    const leaves = redirect !== 'follow' || mayLeave(own.method, own.headers, overlay)
    const init: SentInit = { ...own, headers, signal, redirect: leaves ? redirect : 'manual' }
    const response = heard(await fetch(url, init))
    return leaves
      ? new FetchRepeatAnswer(response)
      : withinOrigin(response, { fetch, url, init }, attempt, this.#sendable)
  }

  isFinal(error: unknown): boolean {
    if (isOwnError(error)) return true
    const { url, init } = this.#sendable
    try {
      assertSendable(url, init)
      return false
    } catch {
      return true
    }
  }

  putHeader(name: string, value: string): void {
    this.#sendable.init.headers.set(name, value)
  }

  body(): BodyContent {
    return (this.#sendable.init.body ?? null) as BodyContent
  }

  asFetch(): FetchForm {
    const { init } = this.#sendable
    const isWhole = Object.entries(init).every(([name, value]) => value === undefined || NOT_LOST.has(name))
    return { init, withheld: [], isWhole }
  }

  accepted(acceptance: Acceptance): Response {
    const { headers, body } = acceptedForm(acceptance)
    return new Response(body, { status: 202, headers })
  }

  answered(response: Response): Response {
    return response
  }

  adopt(answer: Answer): RepeatAnswer {
    const { response, isShared } = answer as FetchAnswer
    // of these a 307 keeps the method, and is not told apart; PUT and DELETE may be repeated
    const becameGet = response.redirected && /^(post|patch)$/i.test(this.#sendable.init.method)
    const adopted = new FetchRepeatAnswer(response, answer.redirectRefused, becameGet)
    return Object.assign(adopted, { isShared })
  }
}

class FetchRepeatAnswer extends FetchAnswer implements RepeatAnswer {
  override readonly redirectRefused: boolean
  readonly becameGet: boolean
  #copy: Response | null | undefined
  #rest: Rest | undefined
  #resting: Promise<void> | undefined
  /** `whole`: all of it is here. `given`: it is its caller's. `gone`: it was dropped. */
  #body: 'open' | 'whole' | 'given' | 'gone' = 'open'

  constructor(response: Response, redirectRefused = false, becameGet = false) {
    super(response)
    this.redirectRefused = redirectRefused
    this.becameGet = becameGet
  }

  override header(name: string): string | null {
    try {
      return super.header(name)
    } catch {
      // read inside the core's calls, where an error of the user's own would count as the core's
      return null
    }
  }

  eachHeader(take: (name: string, value: string) => void): void {
    const { headers }: { readonly headers?: Partial<Headers> } = this.response
    if (headers?.forEach) {
      headers.forEach((value, name) => {
        take(name, value)
      })
      return
    }
    // a `fetch` of the user's own may give what can only be asked
    const value = this.header('retry-after')
    if (value !== null) take('retry-after', value)
  }

  override deliver(): Response {
    const { response, isShared } = this
    if (this.#body === 'gone') return withoutBody(response)
    const isCut = isShared && this.#body === 'open' && response.body?.tee
    this.#body = 'given'
    this.#rest?.stop()
    return isCut ? apart(response) : response
  }

  clone(): Response | null {
    if (this.#body === 'gone') return withoutBody(this.response)
    try {
      this.#copy = copyOf(this.response)
      this.isShared = !!this.#copy
      return this.#copy
    } catch {
      // a `fetch` of the user's own has read it, to log it, or gives what no copy can be made of
      return null
    }
  }

  rest(isKept: boolean, terms: RestTerms): Promise<void> | undefined {
    const { response } = this
    if (this.#resting || this.#body !== 'open') return this.#resting
    const { body, bodyUsed } = response
    if (!body || bodyUsed || body.locked) return undefined
    try {
      // the response itself stays unread, and has what is read of its clone
      const reader = (isKept ? copyOf(response)?.body : body)?.getReader()
      if (!reader) return undefined
      if (isKept) this.isShared = true
      else this.#body = 'gone'
      this.#rest = readRest(reader, isKept ? KEPT_BYTES : UNREAD_BYTES, terms)
    } catch {
      // a `fetch` of the user's own may give a body of any kind
      return undefined
    }
    this.#resting = this.#rest.isWhole.then((isWhole) => {
      if (isWhole && this.#body === 'open') this.#body = 'whole'
    })
    return this.#resting
  }

  override discard(): void {
    const { body } = this.response
    if (this.#body !== 'open' || !body) return
    this.#body = 'gone'
    this.#rest?.stop()
    // a copy of it that no listener reads
    cancelBody(this.#copy?.body)
    cancelBody(body)
  }
}

/** Drops a listener's copy, as of an answer that is kept, unless it is read. */
export function letGoUnread(response: Response, terms: RestTerms): void {
  const copy = new FetchRepeatAnswer(response)
  copy.rest(true, terms)?.then(() => copy.discard())
}

/** Another copy, in place of a response of which one was cancelled: that response, aborted unread, would end a process of Node 22. */
function apart(response: Response): Response {
  const copy = copyOf(response) as Response
  cancelBody(response.body)
  return Object.defineProperty(copy, 'redirected', { value: response.redirected })
}

/** The response in all but its body, which was dropped. */
function withoutBody(response: Response): Response {
  const { status, statusText, headers, url, type, redirected } = response
  try {
    const body = new ReadableStream({ start: (controller) => controller.error(bodyLetGo()) })
    return Object.defineProperties(new Response(body, { status, statusText, headers }), {
      url: { value: url },
      type: { value: type },
      redirected: { value: redirected },
    })
  } catch {
    // of a status that no Response can be made with
    return response
  }
}

/** Throws where a `fetch` of the user's own gives what is no answer, such as Response.error(): a task would take it for a success. */
function heard(response: Response): Response {
  if (!response.status && response.type !== 'opaqueredirect') throw new TypeError('fetch gave no status')
  return response
}

/** The answer, or that of the redirects in it, which are followed by hand while they stay within the origin (S15). */
function withinOrigin(
  response: Response,
  sent: Sendable,
  attempt: AttemptInit,
  asked: Sendable,
): RepeatAnswer | Promise<RepeatAnswer> {
  // a browser's opaque redirect does not say where it leads
  if (response.type === 'opaqueredirect') return new FetchRepeatAnswer(response, true)
  const answer = new FetchRepeatAnswer(response, false, asked.seeOther !== undefined)
  return REDIRECT.has(response.status) ? follow(answer, sent, attempt, asked) : answer
}

async function follow(
  first: FetchRepeatAnswer,
  { fetch, url: from, init: own }: Sendable,
  attempt: AttemptInit,
  asked: Sendable,
): Promise<RepeatAnswer> {
  const { clock = systemClock, signal, maySend } = attempt
  let answer = first
  let init = own
  let url = from
  for (let hop = 0; ; hop++) {
    const { status } = answer.response
    const location = REDIRECT.has(status) ? answer.header('location') : null
    if (location === null) return answer
    const next = nextHop(location, url)
    if (!next) return new FetchRepeatAnswer(answer.response, true)
    url = next.href
    if (becomesGet(status, init.method.toUpperCase())) {
      // before anything can end this attempt
      asked.seeOther = url
      init = asGet(init, attempt)
    }
    // first: two hops at once would be two connections
    await answer.rest(false, { clock, signal })
    if (hop === MAX_REDIRECTS) throw new TypeError(`more than ${MAX_REDIRECTS} redirects`)
    assertNotAborted(signal)
    assertMaySend(maySend)
    const response = heard(await fetch(url, init))
    if (response.type === 'opaqueredirect') return new FetchRepeatAnswer(response, true)
    // the platform, which was asked for one hop, says of none; a `fetch` of the user's own may give what cannot be written on
    Reflect.defineProperty(response, 'redirected', { value: true, configurable: true })
    answer = new FetchRepeatAnswer(response, false, asked.seeOther !== undefined)
  }
}

function asGet(init: SentInit, { keyHeader }: AttemptInit): SentInit {
  const headers = new Headers(init.headers)
  dropBody(headers, keyHeader)
  return { ...init, method: 'GET', headers, body: null }
}
