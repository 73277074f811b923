/** Attempts by axios: each gives a fresh config to the original adapter, and runs nothing of the outer call again. */

import type { AxiosError, AxiosInstance, AxiosResponse, InternalAxiosRequestConfig } from 'axios'
import { BodyNotReplayableError, RedriveError } from '../../api/errors.ts'
import type { RedriveMark } from '../../api/mark.ts'
import { acceptedForm } from '../../call/accepted.ts'
import type { RestTerms } from '../../call/discard.ts'
import { PASSING_CODE } from '../../call/network-code.ts'
import { isOwnError } from '../../call/own-error.ts'
import {
  assertMaySend,
  becomesGet,
  dropBody,
  isHopRefused,
  MAX_REDIRECTS,
  mayLeave,
  nextHop,
  REDIRECT,
} from '../../call/redirects.ts'
import {
  type Acceptance,
  type Answer,
  type AttemptInit,
  type BodyContent,
  type FetchForm,
  mark,
  type RepeatAnswer,
  type Repeatable,
} from '../../call/transport.ts'
import { bothSignals } from '../../platform/abort.ts'
import { type Clock, FOREVER, systemClock } from '../../platform/clock.ts'
import { AxiosAnswer, type ValidateStatus } from './answer.ts'
import { node, StreamedBody } from './body.ts'
import { bodyReader, canStream, errorsOf, failed, inForm, senderOf } from './stream-replay.ts'
import { httpUrl, withoutUser } from './where.ts'

const REFUSED = 'REDIRECT_REFUSED'

/** Whether an error is that of a replay that was not redirected to another origin, however deep axios and what it is built on have wrapped it. */
export function isRedirectRefused(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return (error as { readonly code?: unknown }).code === REFUSED || isRedirectRefused(error.cause)
}

/** The parts that are the same on every attempt. */
export interface Frozen {
  /** The config as it was when the call was made, but for what stands here beside it. */
  readonly config: InternalAxiosRequestConfig
  readonly url: URL
  /** How long the body of a failure may take: as long as an attempt; FOREVER: there is no limit. */
  readonly bodyMs: number
  /** The headers again, as the platform has them. */
  readonly plain: Headers
  readonly headers: InternalAxiosRequestConfig['headers']
  readonly data: unknown
}

export class AxiosTransport implements Repeatable {
  readonly #axios: AxiosInstance
  readonly #config: InternalAxiosRequestConfig
  readonly #frozen: Frozen
  readonly #retryable: readonly number[]
  seeOther: string | undefined
  /** A redirect to another origin has made a GET of it. */
  #isAnsweredAway = false

  /** `axios` has neither interceptors nor defaults. */
  constructor(axios: AxiosInstance, config: InternalAxiosRequestConfig, frozen: Frozen, retryable: readonly number[]) {
    this.#axios = axios
    this.#config = config
    this.#frozen = frozen
    this.#retryable = retryable
  }

  /** `roams`: a replay follows redirects to other origins also where it need not, as long as it gives nothing away. */
  async send(attempt: AttemptInit, roams = false): Promise<AxiosAnswer> {
    const { overlay, signal, isReplay, clock = systemClock, maySend, keyHeader } = attempt
    const { cancelToken: _, redrive: __, auth, ...config } = this.#frozen.config
    const headers = this.#frozen.headers.concat()
    overlay?.forEach((value, name) => {
      headers.set(name, value, true)
    })
    const { data } = this.#frozen
    // axios lets `auth` win over the header
    const isGiven = overlay?.has('authorization') === true
    // where `installFetch` has put a queue in place of the global fetch, an attempt is no call
    const fetchOptions = { ...config.fetchOptions, redrive: false }
    const init = { ...config, ...(auth && !isGiven ? { auth } : {}), headers, data, signal, fetchOptions }
    const { url } = this.#frozen
    if (!isReplay) return (await this.#once({ ...init, beforeRedirect: this.#seeingHops() })).seeHops(url)
    const terms = { clock, signal, maySend, keyHeader }
    const { seeOther } = this
    if (seeOther !== undefined) {
      const to = new URL(seeOther)
      // axios makes the credentials of it again
      if (!isGiven) [to.username, to.password] = [url.username, url.password]
      const get = { ...asGet(init, to, keyHeader), beforeRedirect: this.#beforeRedirect(maySend, false) }
      return await this.#sendWithinOrigin(get, to, false, terms)
    }
    const isFree = mayLeave(init.method ?? 'get', this.#frozen.plain, overlay, (roams && !this.#hasUser) || undefined)
    const there = {
      ...init,
      ...this.#where(isGiven),
      beforeRedirect: this.#beforeRedirect(maySend, isFree && !this.#hasUser),
    }
    return (await this.#sendWithinOrigin(there, url, isFree, terms)).seeHops(url)
  }

  /**
   * Where a replay goes: the recorded URL, whatever has become since of the parts that it was made of. `isGiven`: credentials
   * are given for it, and axios lets a user in the URL win over the header.
   */
  #where(isGiven: boolean): Pick<InternalAxiosRequestConfig, 'url'> {
    const { config, url } = this.#frozen
    const hidesUser = isGiven && (url.username || url.password)
    // an adapter that is told where by its parts, as a mock is, goes on hearing them
    if (!hidesUser && httpUrl(config, this.#axios)?.href === url.href) return {}
    const whole = { url: hidesUser ? withoutUser(url) : url.href, baseURL: undefined, params: undefined }
    return whole as Pick<InternalAxiosRequestConfig, 'url'>
  }

  /** Axios makes credentials of a user that is no header of the call. */
  get #hasUser(): boolean {
    const { config, url } = this.#frozen
    return !!(config.auth || url.username || url.password)
  }

  putHeader(name: string, value: string): void {
    // in the caller's config too: sent again after a refusal, it is the same intent
    for (const headers of [this.#frozen.headers, this.#config.headers]) headers.set(name, value, true)
  }

  async body(): Promise<BodyContent> {
    const { data } = this.#frozen
    if (typeof data === 'string') return data
    if (data instanceof Blob) return new Uint8Array(await data.arrayBuffer())
    if (data instanceof ArrayBuffer) return new Uint8Array(data)
    if (data == null) return null
    // stored, or made a key of, it would be a request without a body
    const { config, url } = this.#frozen
    const why = 'a body of an unknown kind cannot be kept: make text or an ArrayBuffer of it'
    throw new BodyNotReplayableError(`${(config.method ?? 'get').toUpperCase()} ${url.origin}`, why)
  }

  asFetch(): FetchForm {
    const { withCredentials } = this.#config
    const init: RequestInit = withCredentials ? { credentials: 'include' } : {}
    // adapters, agents and proxies cannot be stored
    const withheld = [this.#hasUser ? 'authorization' : [], xsrfHeader(this.#frozen)].flat()
    return { init, withheld, isWhole: false }
  }

  async timedOut({ message }: Error): Promise<AxiosError> {
    const AxiosErrors = await errorsOf(this.#axios)
    const { timeoutErrorMessage, transitional } = this.#config
    const code = transitional?.clarifyTimeoutError ? 'ETIMEDOUT' : 'ECONNABORTED'
    return new AxiosErrors(timeoutErrorMessage || message, code, this.#config)
  }

  isFinal(error: unknown): boolean {
    const { code, name, request, response, config, isAxiosError } = (error ?? {}) as Partial<AxiosError>
    // the body broke off: by the http adapter with what it had, by fetch as a TypeError without a code
    if (this.#isAnsweredAway) return true
    const brokeOff = response !== undefined || (!code && name === 'TypeError' && request)
    if (brokeOff || isHopRefused(error)) return false
    // axios' own mistakes have a code or no config; mocks give a lost connection no code
    const isLost = code ? PASSING_CODE.test(code) : isAxiosError && config
    return !isLost || isOwnError(error)
  }

  /** No server sent it: neither the caller's `responseType` nor `transformResponse`, which axios looks up when it has this, is about it. */
  accepted(acceptance: Acceptance): Partial<AxiosResponse> {
    const { headers, body } = acceptedForm(acceptance)
    const config = { ...this.#config }
    this.#config.transformResponse = []
    return { status: 202, statusText: 'Accepted', headers, data: JSON.parse(body), config }
  }

  /** The form in which the call's adapter gives an answer; `validateStatus` is not asked about one that no server sent. */
  async answered(response: Response, word?: RedriveMark | null, of?: RepeatAnswer): Promise<Partial<AxiosResponse>> {
    const { status, statusText } = response
    const config = this.#config
    const headers = Object.fromEntries(response.headers)
    const head = of instanceof AxiosAnswer ? of.head : { headers }
    const data = await this.#read(response).catch(async (error) => {
      throw (await errorsOf(this.#axios)).from(error, error.code, config)
    })
    const answer = { status, statusText, ...head, data, config } as AxiosResponse
    const { validateStatus } = config
    if (word === undefined || !validateStatus || validateStatus(status)) return mark(answer, word ?? null)
    throw mark(await failed(this.#axios, answer), word)
  }

  adopt(answer: Answer): AxiosAnswer {
    return answer as AxiosAnswer
  }

  async #read(response: Response): Promise<unknown> {
    const isNode = senderOf(this.#frozen.config) === 'http'
    if (this.#config.responseType !== 'stream') {
      const headers = { 'content-type': response.headers.get('content-type') }
      return inForm(new Uint8Array(await response.arrayBuffer()), { isNode }, { headers }, this.#config)
    }
    const stream = response.body ?? new Blob().stream()
    return isNode ? node.process.getBuiltinModule('node:stream').Readable.fromWeb(stream) : stream
  }

  /** `clock`: of a replay, whose body is streamed where that can be: a failure's is not read to its end before another attempt. */
  async #once(given: InternalAxiosRequestConfig, clock?: Clock): Promise<AxiosAnswer> {
    const { validateStatus } = this.#config
    const read = clock && canStream(given) ? bodyReader(this.#axios, this.#config, clock) : undefined
    const ending = new AbortController()
    const acts = { read, bodyMs: this.#frozen.bodyMs, abort: () => ending.abort() }
    const config: InternalAxiosRequestConfig = { ...given, ...(read ? { responseType: 'stream' } : {}) }
    const isStream = config.responseType === 'stream'
    if (isStream) config.signal = bothSignals(given.signal as AbortSignal, ending.signal)
    let asked = false
    let later = false
    let isGood = false
    const ask: ValidateStatus = (status) => {
      asked = true
      // a retry may follow: the caller's rule is asked once, about the last answer
      later = status >= 300 || this.#retryable.includes(status)
      isGood = !later && (!validateStatus || validateStatus(status))
      // axios stops listening to the signal of a failure, and its body could not be ended any more
      return isGood || isStream
    }
    const rule = () => (later ? (validateStatus ?? (() => true)) : undefined)
    let response: AxiosResponse
    try {
      response = await sendOnce(this.#axios, { ...config, validateStatus: ask }, this.#config)
    } catch (error) {
      const { response: answer } = error as AxiosError
      // a success whose body broke off is none
      if (!answer || (!asked && answer.status < 400)) throw error
      return new AxiosAnswer(answer, acts, error, rule())
    }
    // without a body there is no stream either
    if (read) response.data ??= await inForm(new Uint8Array(), { isNode: false }, response, this.#config)
    // a browser's opaque redirect has no status to ask about
    if (isStream && asked && !isGood) {
      return new AxiosAnswer(response, acts, await failed(this.#axios, response), rule())
    }
    const whole = read && StreamedBody.of(response.data, acts.abort)
    if (whole) response.data = await read(whole, response, FOREVER)
    return new AxiosAnswer(response, { ...acts, whole })
  }

  /**
   * Holds a replay to the recorded origin (S15). The http adapter tells of each hop before it is made; for the fetch
   * adapter they are made here, one by one. XMLHttpRequest follows unasked, which no script can help.
   */
  async #sendWithinOrigin(
    first: InternalAxiosRequestConfig,
    from: URL,
    isFree: boolean,
    terms: RestTerms & Pick<AttemptInit, 'maySend' | 'keyHeader'>,
  ): Promise<AxiosAnswer> {
    const { clock } = terms
    const { maxRedirects: given, fetchOptions } = first
    // axios takes anything but a number for its default, and not every version's fetch adapter heeds a 0
    const maxRedirects = typeof given === 'number' && given >= 0 ? given : MAX_REDIRECTS
    const isTold = fetchOptions?.redirect === 'error' || fetchOptions?.redirect === 'manual'
    if (isTold || isFree) return this.#once(first, clock)
    let config = { ...first, fetchOptions: { ...fetchOptions, redirect: 'manual' } }
    let url = from
    for (let hop = 0; ; hop++) {
      const answer = await this.#once(config, clock)
      answer.becameGet ||= this.seeOther !== undefined
      // a browser's opaque redirect does not say where it leads
      if (answer.isOpaque) return answer.refuseRedirect()
      const location = REDIRECT.has(answer.status) ? answer.header('location') : null
      if (location === null) return answer
      if (maxRedirects === 0) return answer
      const next = nextHop(location, url)
      if (!next || hop >= maxRedirects) return answer.refuseRedirect()
      url = next
      if (becomesGet(answer.status, (config.method ?? 'get').toUpperCase())) {
        // before anything can end this attempt
        this.seeOther = url.href
        config = asGet(config, url, terms.keyHeader)
      } else config = movedTo(config, url)
      await answer.rest(false, terms)
      assertMaySend(terms.maySend)
    }
  }

  #beforeRedirect(
    maySend: AttemptInit['maySend'],
    isFree: boolean,
  ): NonNullable<InternalAxiosRequestConfig['beforeRedirect']> {
    const { beforeRedirect } = this.#config
    const home = this.#frozen.url.origin
    return (options, ...details) => {
      const { origin } = new URL(options.href as string)
      if (origin !== home && !isFree) {
        throw new RedriveError(
          REFUSED,
          `a replay to ${home} is not redirected to another origin, ${origin}: call that one directly`,
        )
      }
      this.#seeHop(options)
      assertMaySend(maySend)
      beforeRedirect?.(options, ...details)
    }
  }

  /** Only the http adapter tells of each hop, before it is made. */
  #seeingHops(): NonNullable<InternalAxiosRequestConfig['beforeRedirect']> {
    const { beforeRedirect } = this.#config
    return (options, ...details) => {
      this.#seeHop(options)
      beforeRedirect?.(options, ...details)
    }
  }

  #seeHop({ method, href }: Record<string, unknown>): void {
    const sent = this.#config.method ?? 'get'
    if (method !== 'GET' || /^(get|head)$/i.test(sent) || this.seeOther !== undefined) return
    const { origin, pathname, search } = new URL(href as string)
    if (origin === this.#frozen.url.origin) this.seeOther = origin + pathname + search
    else this.#isAnsweredAway = true
  }
}

/** Sends a config as it is, its transforms done already; the caller sees its own config, not that of an attempt. */
export async function sendOnce(
  axios: AxiosInstance,
  config: InternalAxiosRequestConfig,
  own: InternalAxiosRequestConfig = config,
): Promise<AxiosResponse> {
  const restore = <T>(result: T): T => {
    if (typeof result === 'object' && result !== null && 'config' in result) result.config = own
    return result
  }
  try {
    return restore(await axios.request({ ...config, transformRequest: [], transformResponse: [] }))
  } catch (error) {
    restore((error as AxiosError | undefined)?.response)
    throw restore(error)
  }
}

/** The header with a token of the page's cookies that axios puts on a request as its adapter sends it; none: it has no such token, or would not. */
function xsrfHeader({ config, url }: Pick<Frozen, 'config' | 'url'>): string | readonly never[] {
  const { xsrfCookieName, xsrfHeaderName, withXSRFToken: asked } = config
  const { document, location } = globalThis
  if (!('window' in globalThis && document?.cookie && xsrfCookieName && xsrfHeaderName)) return []
  const isAsked = (typeof asked === 'function' ? asked(config) : asked) ?? url.origin === location?.origin
  const isThere = document.cookie.split('; ').some((each) => each.startsWith(`${xsrfCookieName}=`))
  return isAsked === true && isThere ? xsrfHeaderName.toLowerCase() : []
}

function movedTo<C extends InternalAxiosRequestConfig>(config: C, url: URL): C {
  const { baseURL: _, params: __, ...next } = config
  return { ...next, url: url.href } as C
}

function asGet<C extends InternalAxiosRequestConfig>(config: C, url: URL, keyHeader: string | undefined): C {
  const headers = config.headers.concat()
  dropBody(headers, keyHeader)
  return { ...movedTo(config, url), method: 'get', data: undefined, headers }
}
