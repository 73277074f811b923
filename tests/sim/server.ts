/**
 * The server of the world: honours keys, is slow, refuses, does the work and says it did not, or loses its answer. It keeps
 * a log of its own, which nothing the queues say can change.
 */

import type { Book } from './book.ts'
import { canary, strayIn } from './canaries.ts'
import type { Gate } from './gate.ts'
import { type Answer, ORIGINS } from './scenario.ts'
import type { VirtualTime } from './time.ts'

const FINE: Answer = { status: 200, latencyMs: 5 }

/** What an answer said, by its number. */
export interface Said {
  readonly intent: string
  readonly status: number
  /** Asked of the one who hears it; 0: nothing. */
  readonly waitMs: number
  /** Asked of all to that origin; 0: nothing. */
  readonly holdMs: number
  readonly origin: string
}

export interface Request {
  readonly intent: string
  readonly principal: string
  readonly key: string | null
  readonly origin: string
  readonly method: string
  /** Its URL and headers in one text. */
  readonly sent: string
  /** The platform has followed a redirect, with what the caller of `fetch` gave it. */
  readonly isPlatforms?: boolean
}

/** Where a redirect leads, by the number in its path. */
export type Hop = Pick<Request, 'intent' | 'principal'>

const REDIRECTED = /^\/hop\/(\d+)$/
/** One that redirects lead to, and nothing else. */
const ELSEWHERE = 'https://x.test'

export class Server {
  readonly #book: Book
  readonly #time: VirtualTime
  readonly #scripts = new Map<string, Answer[]>(ORIGINS.map((origin) => [origin, []]))
  readonly #outages = new Map<string, { readonly until: number; readonly answer: Answer }>()
  readonly #keys = new Map<string, string | null>()
  readonly #effects = new Map<string, number>()
  readonly #hops = new Map<string, Hop>()
  /** By the number in the header `serial`. */
  readonly said: Map<string, Said> = new Map()
  /** Not before: what the last answer to an intent has asked for. */
  readonly #asked = new Map<string, number>()
  readonly #isSteady: boolean
  #serial = 0

  /** `isSteady`: whoever hears an answer lives to go by it. */
  constructor(book: Book, time: VirtualTime, isSteady = false) {
    this.#book = book
    this.#time = time
    this.#isSteady = isSteady
  }

  script(origin: string, answers: readonly Answer[]): void {
    this.#scripts.get(origin)?.push(...answers)
  }

  outage(origin: string, forMs: number, answer: Answer): void {
    this.#outages.set(origin, { until: this.#time.elapsed + forMs, answer })
  }

  /** Everything is well from now on. */
  heal(): void {
    for (const script of this.#scripts.values()) script.length = 0
    this.#outages.clear()
  }

  /** How often the work was done that a principal asked for under this key. */
  effects(principal: string | null, key: string | null): number {
    return this.#effects.get(`${principal} ${key}`) ?? 0
  }

  /** The request that a redirect has sent here. */
  hop(url: URL): Hop | undefined {
    const [, serial = ''] = REDIRECTED.exec(url.pathname) ?? []
    return this.#hops.get(serial)
  }

  /** The answer reaches a process by its gate; the work is done whether it is there or not. */
  take(request: Request, gate: Gate, signal: AbortSignal | null | undefined): Promise<Response> {
    const { intent, principal, key, origin, method, sent, isPlatforms } = request
    const answer = this.#next(origin)
    const serial = String(++this.#serial)
    this.#book.totals.requests++
    this.#book.note(() => `request ${method} ${intent} ${origin} key ${key}: ${JSON.stringify(answer)}`)
    const stray = isPlatforms ? undefined : strayIn(sent, origin)
    this.#book.expect(stray === undefined, 'S12', () => `${intent} has taken ${stray} to ${origin}`)
    const earlyMs = (this.#asked.get(intent) ?? 0) - this.#time.elapsed
    this.#book.expect(
      earlyMs <= 0 || !this.#isSteady,
      'S9',
      () => `${intent} comes ${earlyMs} ms before it was asked to`,
    )
    const known = this.#keys.get(intent)
    if (method !== 'GET') {
      this.#book.expect(key !== null, 'S5', () => `${intent} came without a key`)
      this.#book.expect(known === undefined || known === key, 'S5', () => `${intent} came under ${known} and ${key}`)
      this.#keys.set(intent, key)
    }
    return new Promise((resolve, reject) => {
      const abort = () => reject(signal?.reason)
      signal?.addEventListener('abort', abort, { once: true })
      this.#time.after(answer.latencyMs, () => {
        const name = `${principal} ${key}`
        const works = answer.works ?? isDone(answer)
        if (works && !this.#effects.has(name)) this.#effects.set(name, 1)
        gate.enter(() => {
          // some transports quote what they have sent
          if (answer.lost) return reject(new TypeError(`fetch failed: ${sent}`))
          const { status, retryAfterS, redirect, limit } = answer
          this.#asked.set(intent, this.#time.elapsed + askedBy(answer).waitMs)
          this.said.set(serial, { intent, status, ...askedBy(answer), origin })
          this.#hops.set(serial, { intent, principal })
          const asked = retryAfterS === undefined ? {} : { 'retry-after': String(retryAfterS) }
          const quota = limit && { ratelimit: `"quota";r=0;t=${limit.seconds}${limit.isPartition ? ';pk=:dGVh:' : ''}` }
          const location = redirect && { location: locationOf(origin, redirect, serial) }
          resolve(
            new Response(status === 303 ? null : intent, {
              status,
              headers: { ...asked, ...quota, ...location, serial },
            }),
          )
        })
      })
    })
  }

  #next(origin: string): Answer {
    const outage = this.#outages.get(origin)
    if (outage && outage.until > this.#time.elapsed) return outage.answer
    return this.#scripts.get(origin)?.shift() ?? FINE
  }
}

/** `Retry-After` is the server's own word where it fails; else the quota's is. */
function askedBy({ status, retryAfterS, limit }: Answer): Pick<Said, 'waitMs' | 'holdMs'> {
  const ofAllS = limit?.isPartition ? 0 : (limit?.seconds ?? 0)
  const holdS = status === 429 || status === 503 ? (retryAfterS ?? ofAllS) : ofAllS
  return { waitMs: 1_000 * (retryAfterS ?? limit?.seconds ?? 0), holdMs: 1_000 * holdS }
}

/** A redirect that is followed with the same method leaves the work to whom it leads to. */
function isDone({ status }: Answer): boolean {
  return status < 400 && status !== 307 && status !== 308
}

function locationOf(origin: string, redirect: NonNullable<Answer['redirect']>, serial: string): string {
  const others = [...ORIGINS, ELSEWHERE].filter((each) => each !== origin)
  const to = redirect === 'within' ? origin : (others[Number(serial) % others.length] ?? ELSEWHERE)
  return `${to}/hop/${serial}?access_token=${canary(origin, 'hop')}`
}
