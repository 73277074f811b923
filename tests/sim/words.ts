/**
 * What has been said of attempts that failed, by servers and by the hooks of a process, and that its queue goes by it: `shouldRetry`
 * false ends a task (S8), true does not end it as one not to be retried (S1), and no `delay` undercuts a server's own wait (S9).
 *
 * A call says in its URL what the hooks are to say of it. Where a key is used for two calls, one may be sent for the other, and nothing is
 * judged; nor where a life ends before what it heard is settled.
 */

import type { Settlement } from '../../js/api/store.ts'
import type { RetryContext, RetryHooks } from '../../js/index.ts'
import type { Book } from './book.ts'
import { hash } from './credentials.ts'
import type { Gate } from './gate.ts'
import type { Said } from './server.ts'
import type { VirtualTime } from './time.ts'

/** Of one attempt. */
export interface Word {
  retry?: boolean | undefined
  /** No other attempt before that, in time that really passed: as the server has said, and as the hook. */
  notBefore: number
  chosenAt: number
  /** 401 to an attempt that followed a caller's own which had met one. */
  isRefused?: boolean
  /** Its process has kept time since. */
  readonly isSteady: () => boolean
}

const SLOW_EVERY = 3
const SLOW_MS = 1_500
const LINGERS_MS = 7_000
/** Instants are whole milliseconds in a queue. */
const GRAIN_MS = 1

/** Hooks take their time over this call. */
const isSlow = (intent: string): boolean => hash(intent) % SLOW_EVERY === 0

/** Those of one life of a process. */
export class Words {
  readonly #book: Book
  readonly #owner: string
  readonly #offsetMs: () => number
  /** By intent: of its last attempt. */
  readonly #last = new Map<string, Word>()
  /** Intents whose callers' own first attempts were refused, and whether one that followed was. */
  readonly #unauthorized = new Map<string, boolean>()

  constructor(book: Book, owner: string, offsetMs: () => number) {
    this.#book = book
    this.#owner = owner
    this.#offsetMs = offsetMs
  }

  /** An answer is heard. `token`: that of its attempt, where it has one; `isOwn`: the attempt was the queue's. */
  hears({ intent, status, waitMs }: Said, isOwn: boolean, token: number | undefined): void {
    const word = this.#new(intent, token)
    if (status >= 400) word.notBefore = this.#book.time.elapsed + waitMs
    if (status !== 401 || this.#book.asked.get(intent)?.isHandedOver) return
    if (!isOwn) this.#unauthorized.set(intent, false)
    else if (this.#unauthorized.has(intent)) {
      this.#unauthorized.set(intent, true)
      word.isRefused = true
    }
  }

  /** An attempt has ended without an answer. */
  lost(intent: string, token: number | undefined): void {
    this.#new(intent, token)
  }

  /** An attempt of the queue's own leaves, of a task that no store has where there is no `token`. */
  sends(intent: string, origin: string, token: number | undefined, isServed: boolean): void {
    const book = this.#book
    if (!isAlone(book, intent)) return
    const who = () => `${this.#owner} sends ${intent} to ${origin}`
    const { refreshes, says, isHandedOver } = book.asked.get(intent) ?? {}
    const wasRefused = this.#unauthorized.get(intent)
    const word = this.#last.get(intent)
    // the hooks may have another tried
    if (wasRefused !== undefined && says !== 'insists' && !isHandedOver) {
      book.expect(refreshes === true && isServed, 'S8', () => `${who()}, and its 401 was its caller's`)
      book.expect(!wasRefused || token !== undefined, 'S8', () => `${who()} after a second 401`)
    }
    if (token !== undefined || !word?.isSteady()) return
    book.expect(word.retry !== false, 'S8', () => `${who()}, and shouldRetry said no`)
    const earlyMs = word.notBefore - book.time.elapsed
    book.expect(earlyMs <= GRAIN_MS, 'S9', () => `${who()} ${earlyMs} ms before its server has said`)
  }

  /** The hooks of the process. */
  hooks(time: VirtualTime, gate: Gate): Required<RetryHooks> {
    const ask = <T>(context: RetryContext, answer: (says: string | null, word: Word) => T): T | Promise<T> => {
      const { searchParams } = new URL(context.request.url)
      const [says, intent] = [searchParams.get('says'), searchParams.get('intent') ?? '']
      // one whose answer came another way than by an attempt of its own
      const word = this.#last.get(intent) ?? this.#new(intent, undefined)
      if (says === null || !isSlow(intent)) return answer(says, word)
      return new Promise((resolve) => time.after(SLOW_MS, () => gate.enter(() => resolve(answer(says, word)))))
    }
    return {
      shouldRetry: (context) =>
        ask(context, (says, word) => {
          const ends = says === 'ends' || (says === 'ends later' && context.attemptNumber > 1)
          word.retry = ends ? false : says === 'insists' ? true : undefined
          return word.retry
        }),
      delay: (context) =>
        ask(context, (says, word) => {
          const delayMs = says === 'hurries' ? 0 : says === 'lingers' ? LINGERS_MS : undefined
          // a 401 is followed by fresh credentials at once
          if (delayMs !== undefined && context.response?.status !== 401) word.chosenAt = time.elapsed + delayMs
          return delayMs
        }),
    }
  }

  #new(intent: string, token: number | undefined): Word {
    const offsetMs = this.#offsetMs()
    const word: Word = {
      ...{ notBefore: Number.NEGATIVE_INFINITY, chosenAt: Number.NEGATIVE_INFINITY },
      isSteady: () => this.#offsetMs() === offsetMs,
    }
    this.#last.set(intent, word)
    this.#book.words.set(token ?? intent, word)
    return word
  }
}

/** Nothing else than one call can have had it sent. */
function isAlone(book: Book, intent: string): boolean {
  if (book.asked.get(intent)?.times !== 1) return false
  return ![...book.tasks.values()].some((known) => known.intent === intent && known.redriven)
}

/** A store takes what is to follow an attempt. */
export function keepsWord(book: Book, intent: string, token: number, next: Settlement['next']): void {
  const word = book.words.get(token)
  if (!word || !isAlone(book, intent)) return
  const what = () => `${intent} goes on with ${JSON.stringify(next)}`
  const ends = next.kind === 'exhausted'
  book.expect(word.retry !== false || ends, 'S8', () => `${what()}, and shouldRetry said no`)
  book.expect(!word.isRefused || word.retry === true || ends, 'S8', () => `${what()} after a second 401`)
  const isFinal = ends && (next.reason === 'not_retryable' || next.reason === 'key_conflict')
  book.expect(word.retry !== true || !isFinal, 'S1', () => `${what()}, and shouldRetry said yes`)
  if (next.kind === 'retry') waits(book, what, word, next.delayMs)
}

/** A store takes a task whose first attempt its caller has made. */
export function keepsFirstWord(book: Book, intent: string, dueInMs: number): void {
  const word = book.words.get(intent)
  if (word && isAlone(book, intent)) waits(book, () => `${intent} is stored, due in ${dueInMs}`, word, dueInMs)
}

function waits(book: Book, what: () => string, { notBefore, chosenAt, isSteady }: Word, delayMs: number): void {
  if (!isSteady()) return
  const at = book.time.elapsed + delayMs + GRAIN_MS
  book.expect(notBefore <= at, 'S9', () => `${what()}, ${notBefore - at} ms before its server has said`)
  book.expect(chosenAt <= at, 'S9', () => `${what()}, ${chosenAt - at} ms before its delay() has said`)
}
