/** One attempt of a request, as axios makes it: its chain of interceptors waits behind the adapter until it hears how the attempt ended. */

import type { AxiosResponse } from 'axios'
import type { AxiosAnswer } from '../../adapters/by-axios/answer.ts'
import type { RedriveMark } from '../../api/mark.ts'
import type { RestTerms } from '../../call/discard.ts'
import { mark, type RepeatAnswer } from '../../call/transport.ts'

export class Attempt {
  /** The end of it, for the chain that waits. */
  readonly told: Promise<AxiosResponse>
  isTold = false
  #tell: (result: Promise<AxiosResponse>) => void = () => {}

  constructor() {
    this.told = new Promise((resolve) => {
      this.#tell = resolve
    })
    // of one that was made before, the chain has gone on already
    this.told.catch(() => {})
  }

  /** Has its chain go on. Called again, it changes nothing. */
  tell(result: Promise<AxiosResponse>): void {
    this.isTold = true
    this.#tell(result)
  }
}

/** An answer that the chain gets first, and the queue's caller again: it is read once. */
export class SharedAnswer implements RepeatAnswer {
  readonly #answer: AxiosAnswer
  #given: Promise<AxiosResponse> | undefined

  constructor(answer: AxiosAnswer) {
    this.#answer = answer
  }

  get status(): number {
    return this.#answer.status
  }

  /** null: the chain of interceptors has it already. */
  share(isLast: boolean): Response | null {
    return this.#given ? null : this.#answer.share(isLast)
  }

  get redirectRefused(): boolean {
    return this.#answer.redirectRefused
  }

  get becameGet(): boolean {
    return this.#answer.becameGet
  }

  header(name: string): string | null {
    return this.#answer.header(name)
  }

  eachHeader(take: (name: string, value: string) => void): void {
    this.#answer.eachHeader(take)
  }

  clone(): null {
    return null
  }

  deliver(word: RedriveMark | null): Promise<AxiosResponse> {
    this.#given ??= (async () => this.#answer.deliver(null))()
    const marked = (given: unknown) => void mark(given, word)
    this.#given.then(marked, marked)
    return this.#given
  }

  rest(isKept: boolean, terms: RestTerms): Promise<void> | undefined {
    return this.#answer.rest(isKept, terms)
  }

  discard(): void {
    this.#answer.discard()
  }
}
