/**
 * The page's end of the lab: promises out, messages in. It owns what is under way, so that requests survive a Worker that turns
 * out not to load: they are sent once more, to the next place that can run them.
 */

import { RedriveError, WasmUnavailableError } from 'redrive'
import { assertNotAborted, errorText, whenAborted } from 'redrive/internal'
import type {
  CrowdAnswer,
  CrowdRequest,
  FrontierAnswer,
  FrontierRequest,
  FrontierRow,
  LabCall,
  LabEngine,
  OutageAnswer,
  OutageRequest,
} from './model.ts'
import type { AnswerOf, Asked, Fault, FromLab, Kind, PartialOf, RequestOf, ToLab } from './protocol.ts'
import { checkRequest } from './rules.ts'

/** A way to something that serves requests. */
export interface Line {
  send(message: ToLab): void
  close(): void
}

/** Opens a line, or throws; `lost` says later that nothing answers on it. */
export type Connect = (heard: (message: FromLab) => void, lost: (cause: unknown) => void) => Line

interface Pending {
  readonly message: ToLab
  readonly told: ((share: number, partial?: never) => void) | undefined
  resolve(answer: AnswerOf<Kind>): void
  reject(error: unknown): void
}

export class LabClient implements LabEngine {
  readonly #pending = new Map<number, Pending>()
  /** Places not tried so far, the best first. */
  readonly #places: Connect[]
  #line: Line | undefined
  #isReady = false
  #isClosed = false
  #lastId = 0

  constructor(places: readonly Connect[]) {
    this.#places = [...places]
    this.#connect()
  }

  async frontier(request: FrontierRequest, options: LabCall<readonly FrontierRow[]> = {}): Promise<FrontierAnswer> {
    checkRequest('frontier', request)
    return this.#ask({ kind: 'frontier', request }, options)
  }

  async crowd(request: CrowdRequest, options: LabCall = {}): Promise<CrowdAnswer> {
    checkRequest('crowd', request)
    return this.#ask({ kind: 'crowd', request }, options)
  }

  async outage(request: OutageRequest, options: LabCall<OutageAnswer> = {}): Promise<OutageAnswer> {
    checkRequest('outage', request)
    return this.#ask({ kind: 'outage', request }, options)
  }

  close(): void {
    this.#isClosed = true
    for (const id of [...this.#pending.keys()]) this.#take(id, true)?.reject(closed())
    this.#line?.close()
    this.#line = undefined
  }

  #ask<K extends Kind>(
    asked: Asked & { readonly kind: K; readonly request: RequestOf<K> },
    { signal, onProgress }: LabCall<PartialOf<K>>,
  ): Promise<AnswerOf<K>> {
    assertNotAborted(signal ?? null)
    if (this.#isClosed) throw closed()
    const id = ++this.#lastId
    const message: ToLab = { ...asked, type: 'run', id }
    const answer = new Promise<AnswerOf<Kind>>((resolve, reject) => {
      this.#pending.set(id, { message, told: onProgress as Pending['told'], resolve, reject })
    })
    const unlisten = signal && whenAborted(signal, () => this.#take(id, true)?.reject(signal.reason))
    if (this.#line) this.#line.send(message)
    else this.#fail(unavailable(undefined))
    // a message with this id answers what was asked with it
    return answer.finally(unlisten) as Promise<AnswerOf<K>>
  }

  /** Forgets a request; `isLeft`: its caller has left. */
  #take(id: number, isLeft = false): Pending | undefined {
    const pending = this.#pending.get(id)
    this.#pending.delete(id)
    if (pending && isLeft) this.#line?.send({ type: 'cancel', id })
    return pending
  }

  #connect(cause?: unknown): void {
    this.#line?.close()
    this.#line = undefined
    let why = cause
    for (let place = this.#places.shift(); place; place = this.#places.shift()) {
      try {
        const line = place(
          (message) => this.#line === line && this.#heard(message),
          (lost) => this.#line === line && this.#lost(lost),
        )
        this.#line = line
        for (const { message } of this.#pending.values()) line.send(message)
        return
      } catch (error) {
        why = error // a page whose policy allows no Worker; the next place may do
      }
    }
    this.#fail(unavailable(why))
  }

  #lost(cause: unknown): void {
    if (this.#isReady) this.#fail(stopped(errorText(cause)))
    else this.#connect(cause)
  }

  #fail(error: Error): void {
    for (const id of [...this.#pending.keys()]) this.#take(id)?.reject(error)
  }

  #heard(message: FromLab): void {
    if (message.type === 'ready') {
      this.#isReady = true
      return
    }
    if (message.type === 'progress') {
      this.#pending.get(message.id)?.told?.(message.share, message.partial as never)
      return
    }
    const pending = this.#take(message.id)
    if (message.type === 'answer') pending?.resolve(message.answer)
    else pending?.reject(message.type === 'superseded' ? superseded() : errorOf(message))
  }
}

const aborted = (why: string): DOMException => new DOMException(why, 'AbortError')
const closed = (): DOMException => aborted('the lab is closed; open another')
const superseded = (): DOMException => aborted('a later request of the same kind took its place')
const stopped = (why: string): RedriveError =>
  new RedriveError('CORE_TRAPPED', `the module of the lab stopped (${why}); ask again`)

const unavailable = (cause: unknown): WasmUnavailableError =>
  new WasmUnavailableError(cause instanceof Error ? cause : undefined)

function errorOf({ fault, message }: Fault): Error {
  if (fault === 'range') return new RangeError(message)
  return fault === 'stopped' ? stopped(message) : unavailable(new Error(message))
}
