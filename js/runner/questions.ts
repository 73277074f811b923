/**
 * One question for credentials at a time, for each principal and origin, here and in other tabs: a refresh token that is used twice
 * ends its session. An answer is that of all attempts that wait for it, and one to a 401 also that of every attempt which had begun before it
 * came: they were refused the same credential. No answer leaves this process.
 */

import type { CredentialsRequest, GiveCredentials } from '../api/credentials.ts'
import { hookHeaders } from '../call/hook-headers.ts'
import { ATTEMPT_MS } from '../options/first-policy.ts'
import { assertNotAborted, whenAborted } from '../platform/abort.ts'
import { type Clock, within } from '../platform/clock.ts'
import { unsaid } from '../platform/error-text.ts'
import { isPage } from '../platform/page.ts'
import type { QueueContext } from './context.ts'

/** Longest time a hook may take: a lease has to last beyond it. */
export const HOOK_MS = 5_000

/** An attempt that needs credentials. */
export interface Asker extends Omit<CredentialsRequest, 'origin'> {
  /** The number of its request's attempt that met 401, among those of the queue. Absent: it began elsewhere, or long ago. */
  readonly refused?: number | undefined
}

/** The questions of a principal at an origin. */
interface Line {
  /** The first is being asked. */
  readonly open: Question[]
  /** The last answer to a 401, and the number of the last attempt that had begun when it came. */
  fresh?: { readonly names: string; readonly headers: Headers; readonly upTo: number } | undefined
}

class Question {
  readonly request: CredentialsRequest
  readonly names: string
  readonly answer: Promise<Headers>
  readonly #controller = new AbortController()
  #waiting = 0
  #settle: (answer: Promise<Headers>) => void = () => {}

  constructor(origin: string, { principal, withheldHeaders, unauthorized }: Asker) {
    this.names = withheldHeaders.join()
    this.request = { origin, principal, withheldHeaders, unauthorized, signal: this.#controller.signal }
    this.answer = new Promise((resolve) => {
      this.#settle = resolve
    })
  }

  /** Whether its answer is that attempt's, too. What is given without a 401 may be the very credential that was refused. */
  suits({ unauthorized, withheldHeaders }: Asker): boolean {
    const { request, names } = this
    return !request.signal.aborted && (request.unauthorized || !unauthorized) && names === withheldHeaders.join()
  }

  /** The hook's signal is aborted when the last waiting attempt has left. */
  join(signal: AbortSignal): void {
    this.#waiting++
    whenAborted(signal, () => {
      this.#waiting--
      if (this.#waiting === 0) this.#controller.abort(signal.reason)
    })
  }

  /** Resolves when another may be asked. `answered` hears before all waiting attempts. */
  async ask(clock: Clock, give: GiveCredentials, answered: (headers: Headers) => void): Promise<void> {
    const asked = async () => {
      assertNotAborted(this.request.signal)
      return give(this.request)
    }
    const given = within(clock, HOOK_MS, 'credentials', asked().catch(withoutWords))
    const answer = given.then((said) => {
      const headers = hookHeaders(said, 'it', 'without')
      answered(headers)
      return headers
    })
    this.#settle(answer)
    await answer.catch((error) => this.#controller.abort(error))
  }
}

/** The questions of one queue. */
class Questions {
  readonly #host: QueueContext
  readonly #lines = new WeakMap<GiveCredentials, Map<string, Line>>()

  constructor(host: QueueContext) {
    this.#host = host
  }

  async answer(give: GiveCredentials, origin: string, asker: Asker): Promise<Headers> {
    const lines = this.#lines.get(give) ?? new Map<string, Line>()
    this.#lines.set(give, lines)
    const where = JSON.stringify([asker.principal, origin])
    const line: Line = lines.get(where) ?? { open: [] }
    lines.set(where, line)
    const { open, fresh } = line
    const isKnown = fresh?.names === asker.withheldHeaders.join() && (asker.refused ?? 0) <= fresh.upTo
    if (asker.unauthorized && isKnown) return fresh.headers
    const known = open.find((each) => each.suits(asker))
    const question = known ?? new Question(origin, asker)
    question.join(asker.signal)
    const tidy = () => open.length === 0 && !line.fresh && lines.delete(where)
    if (!known && open.push(question) === 1) void this.#askAll(give, line, where, tidy)
    return question.answer
  }

  async #askAll(give: GiveCredentials, line: Line, where: string, tidy: () => void): Promise<void> {
    const { settings, counts } = this.#host
    const { clock, name } = settings
    const { open } = line
    for (let question = open[0]; question; question = open[0]) {
      const { names, request } = question
      const answered = (headers: Headers): void => {
        if (!request.unauthorized) return
        const fresh = { names, headers, upTo: counts.attempts }
        line.fresh = fresh
        // attempts that had begun have ended by then
        const forget = () => {
          if (line.fresh === fresh) delete line.fresh
          tidy()
        }
        clock.after(ATTEMPT_MS, forget, true)
      }
      await alone(`redrive/${name}/credentials ${where}`, clock, () => question.ask(clock, give, answered))
      open.shift()
    }
    tidy()
  }
}

/** Does `work`, which never rejects, while no other tab does. Where locks cannot be had, or not in time, it is done all the same. */
function alone(name: string, clock: Clock, work: () => Promise<void>): Promise<void> {
  const locks = isPage() ? globalThis.navigator?.locks : undefined
  if (!locks) return work()
  return new Promise((resolve) => {
    const queued = new AbortController()
    let done: Promise<void> | undefined
    const begin = () => {
      disarm()
      // granted after all, or stolen: it has begun
      if (done) return undefined
      done = work()
      resolve(done)
      return done
    }
    const disarm = clock.after(HOOK_MS, () => {
      begin()
      queued.abort()
    })
    // some lock managers throw where they should reject
    const held = async () => locks.request(name, { signal: queued.signal }, begin)
    held().catch(begin)
  })
}

const questions = new WeakMap<QueueContext, Questions>()

/** The credentials for an attempt. Rejects, with an error whose words hold none, where they are not given in time or are no valid headers. */
export async function ask(host: QueueContext, give: GiveCredentials, origin: string, asker: Asker): Promise<Headers> {
  const own = questions.get(host) ?? new Questions(host)
  questions.set(host, own)
  // what watches attempts may add to them
  return new Headers(await own.answer(give, origin, asker))
}

/** Hides the words of an error of a user's hook: they may quote a credential that cannot be found in them. */
function withoutWords(error: unknown): never {
  throw new Error(unsaid(error))
}
