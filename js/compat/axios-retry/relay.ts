/**
 * One request of axios-retry's, as a call of the queue. The queue makes the attempts, and says when; each is a request of axios with all
 * of its interceptors, as axios-retry makes them. What follows an attempt that failed is for axios-retry's options to say, which the
 * response interceptor asks: until it has, the queue's question (`shouldRetry`) waits for its answer.
 *
 * The queue waits for that a few seconds, and an interceptor may make an error of an answer that the queue took for a success. A retry that
 * is decided on when the call is over begins one of its own, whose first attempt is the one that failed.
 */

import type { AxiosInstance, AxiosResponse, InternalAxiosRequestConfig } from 'axios'
import { callerSignal, readAxios, releaseAfter } from '../../adapters/by-axios/read-config.ts'
import { type AxiosTransport, isRedirectRefused } from '../../adapters/by-axios/transport.ts'
import type { RetryContext } from '../../api/hooks.ts'
import { asksAfter } from '../../call/attempt.ts'
import type { Call } from '../../call/call.ts'
import { isHopRefused } from '../../call/redirects.ts'
import type { Acceptance, AttemptInit, BodyContent, FetchForm, Repeatable } from '../../call/transport.ts'
import type { TaskOptions } from '../../options/task-options.ts'
import { bothSignals } from '../../platform/abort.ts'
import type { Internals } from '../../queue/internals.ts'
import { Attempt, SharedAnswer } from './attempt.ts'

/** The parts that all requests of an instance share. */
export interface RelayPorts extends Internals {
  /** The sibling that attempts go through. */
  readonly bare: AxiosInstance
  /** Makes one more request of axios, whose adapter has `relay.reach` make the attempt. */
  again(config: InternalAxiosRequestConfig, relay: Relay): Promise<AxiosResponse>
}

/** A request as it comes to its adapter. */
export interface RelayRequest {
  readonly config: InternalAxiosRequestConfig
  readonly url: URL
  readonly options: TaskOptions
}

/** A retry that was decided on, and the chain that waits for it. */
interface Wanted {
  readonly config: InternalAxiosRequestConfig
  go(chain: Promise<AxiosResponse>): void
  stop(): void
}

/** An attempt that the queue waits for, while its chain is on its way to the adapter. */
interface Awaited {
  begin(read: () => Promise<void>): void
  /** Takes the call out of the queue, which does not learn how this attempt went: it is not made, or elsewhere. */
  leave(): void
}

export class Relay implements Repeatable {
  readonly origin: string
  readonly #ports: RelayPorts
  readonly #leaving = new AbortController()
  #call: Call | undefined
  #attempt = new Attempt()
  readonly #failed: unknown
  /** That attempt has been reported. */
  #isReported = false
  #transport: AxiosTransport | undefined
  #answer: SharedAnswer | undefined
  /** Answers the question of the queue that waits. */
  #decide: ((retry: boolean) => void) | undefined
  #wanted: Wanted | undefined
  #delayMs = 0
  #awaited: Awaited | undefined
  /** Resolves once the chain of the next attempt has come to its adapter. */
  #coming: Promise<void> | undefined
  /** The last request that such a chain has made. */
  #read: Omit<Call, 'transport'> | undefined
  #over: Promise<unknown> = Promise.resolve()
  #release: (() => void) | undefined
  /** The queue has sent something. */
  wasSent = false

  private constructor(ports: RelayPorts, origin: string, failed: unknown) {
    this.#ports = ports
    this.origin = origin
    this.#failed = failed
  }

  /** Reads a request. Rejects where it cannot be repeated. `failed`: the error of its first attempt, if that is over. */
  static async read(ports: RelayPorts, { config, url, options }: RelayRequest, failed?: unknown): Promise<Relay> {
    const relay = new Relay(ports, url.origin, failed)
    const hooks: TaskOptions = {
      shouldRetry: (context) => relay.#asked(context),
      delay: () => relay.#delayMs,
    }
    const { signal, release } = callerSignal(config)
    const own = bothSignals(signal, relay.#leaving.signal)
    try {
      const call = await readAxios(config, url, own, ports.bare, ports.host, { ...options, ...hooks })
      relay.#transport = call.transport as AxiosTransport
      // without a limit of the policy's, axios alone has one
      const isUnlimited = call.policy.attemptTimeoutMs === 0
      relay.#call = { ...call, transport: relay, ...(isUnlimited ? { timeoutMs: 0 } : {}) }
      // of the platform's own there is nothing to release
      if (signal !== (config.signal ?? null)) relay.#release = release
      return relay
    } catch (error) {
      release()
      throw error
    }
  }

  /** Makes the first attempt; settles as that does. */
  run(): Promise<AxiosResponse> {
    const attempt = this.#attempt
    const call = this.#call as Call
    this.#over = this.#ports.run(call).then(
      (response) => {
        this.#releaseAfter(response as AxiosResponse)
        this.#ended(Promise.resolve(response as AxiosResponse))
      },
      (error) => {
        this.#releaseAfter(error?.response)
        this.#ended(Promise.reject(error))
      },
    )
    return attempt.told
  }

  /** The queue waits to hear what follows the attempt. */
  get isAsking(): boolean {
    return this.#decide !== undefined
  }

  /** Wants another attempt, in `delayMs`; settles as it does. Where the queue makes none, `stopped` says what its caller gets. */
  retry(
    config: InternalAxiosRequestConfig,
    delayMs: number,
    stopped: () => Promise<AxiosResponse>,
  ): Promise<AxiosResponse> {
    this.#delayMs = delayMs
    return new Promise((resolve) => {
      this.#wanted = { config, go: resolve, stop: () => resolve(stopped()) }
      if (this.isAsking) this.#answerQuestion(true)
      else void this.run()
    })
  }

  /** Wants no other attempt; resolves once the queue has ended the call. `isSpent`: since there are no more, and for no other reason. */
  async giveUp(isSpent: boolean): Promise<void> {
    if (!this.isAsking) return
    this.#answerQuestion(isSpent)
    await this.#over
  }

  /** Makes the attempt that the queue waits for, for the chain that has come to its adapter. */
  reach({ config, url, options }: RelayRequest): Promise<AxiosResponse> | undefined {
    const awaited = this.#awaited
    this.#awaited = undefined
    // another server than the one that the queue has in mind
    const isElsewhere = url.origin !== this.origin
    if (isElsewhere) awaited?.leave()
    if (!awaited || isElsewhere) return undefined
    const attempt = new Attempt()
    this.#attempt = attempt
    const { bare, host } = this.#ports
    awaited.begin(async () => {
      const { transport, ...next } = await readAxios(config, url, null, bare, host, options)
      const { seeOther } = this
      this.#transport = transport as AxiosTransport
      // unless the chain has made another request of it
      if (next.method === this.#call?.method && next.url === this.#call.url) this.#transport.seeOther = seeOther
      this.#read = next
    })
    return attempt.told
  }

  async send(init: AttemptInit): Promise<SharedAnswer> {
    if (this.#failed && !this.#isReported) {
      this.#isReported = true
      throw this.#failed
    }
    this.wasSent = true
    this.#answer = undefined
    const coming = this.#come()
    this.#coming = undefined
    // none was asked for: the options have changed since
    if (!coming && this.#attempt.isTold) throw this.#leave()
    // without one it is of the queue's own, as when it was offline, and the chain has heard of none
    await coming
    this.#answer = new SharedAnswer(await this.#sender.send(init, true))
    return this.#answer
  }

  /** The request that is sent next, for its signature. */
  async ready(): Promise<Omit<Call, 'transport'> | undefined> {
    // `send` says how it failed
    if (!this.#failed || this.#isReported) await this.#come()?.catch(() => {})
    return this.#read
  }

  get seeOther(): string | undefined {
    return this.#sender.seeOther
  }

  set seeOther(url: string | undefined) {
    this.#sender.seeOther = url
  }

  isFinal(error: unknown): boolean {
    return this.#sender.isFinal(error)
  }

  timedOut(reason: Error): Promise<unknown> {
    return this.#sender.timedOut(reason)
  }

  putHeader(name: string, value: string): void {
    this.#sender.putHeader(name, value)
  }

  body(): Promise<BodyContent> {
    return this.#sender.body()
  }

  asFetch(): FetchForm {
    return this.#sender.asFetch()
  }

  accepted(acceptance: Acceptance): unknown {
    return this.#sender.accepted(acceptance)
  }

  answered(...given: Parameters<AxiosTransport['answered']>): Promise<unknown> {
    return this.#sender.answered(...given)
  }

  adopt(answer: SharedAnswer): SharedAnswer {
    return answer
  }

  get #sender(): AxiosTransport {
    return this.#transport as AxiosTransport
  }

  /** The queue's question after an attempt that failed. */
  async #asked({ error }: RetryContext): Promise<boolean | undefined> {
    if (this.#wanted) return true
    // the chain hears nothing of the second, which the queue sends again by itself
    if (isRedirectRefused(error) || isHopRefused(error)) return undefined
    // nor of this, which fresh credentials mend
    if (asksAfter(this.#call as Call, this.#answer?.status ?? 0)) return undefined
    const end = this.#answer ? this.#answer.deliver(null) : Promise.reject(error)
    const isFulfilled = await end.then(
      () => true,
      () => false,
    )
    // the caller's own `validateStatus` takes it for a success
    if (isFulfilled) return false
    return new Promise((resolve) => {
      this.#decide = resolve
      this.#attempt.tell(end)
    })
  }

  #answerQuestion(retry: boolean): void {
    this.#decide?.(retry)
    this.#decide = undefined
  }

  #come(): Promise<void> | undefined {
    const wanted = this.#wanted
    if (!wanted) return this.#coming
    this.#coming = new Promise((resolve, reject) => {
      this.#goOn(wanted, { begin: (read) => resolve(read()), leave: () => reject(this.#leave()) })
    })
    return this.#coming
  }

  /** Begins the chain of a retry. */
  #goOn({ config, go }: Wanted, awaited: Awaited): void {
    this.#wanted = undefined
    this.#awaited = awaited
    const chain = this.#ports.again(config, this)
    go(chain)
    const ended = () => {
      // an interceptor has ended it before it was sent
      if (this.#awaited === awaited) awaited.leave()
      else this.#answerQuestion(false)
    }
    chain.then(ended, ended)
  }

  /** Takes the call out of the queue; gives the reason that its attempt ends with. */
  #leave(): unknown {
    this.#leaving.abort()
    return this.#leaving.signal.reason
  }

  #ended(result: Promise<AxiosResponse>): void {
    const wanted = this.#wanted
    const given: Awaited = { begin: () => this.#attempt.tell(result), leave() {} }
    this.#decide = undefined
    this.#attempt.tell(result)
    // a chain that is still on its way
    if (this.#awaited) this.#awaited = given
    result.then(
      // it has joined another call's task, or a fallback has answered
      () => wanted && this.#goOn(wanted, given),
      () => wanted?.stop(),
    )
  }

  #releaseAfter(answer: AxiosResponse | undefined): void {
    if (this.#release) releaseAfter(answer, this.#release)
  }
}
