/** What a process sends, held against what it may: each attempt of its own needs a lease that nobody has used, still in force. */

import { laneName } from '../../js/api/records.ts'
import { becomesGet, MAX_REDIRECTS } from '../../js/call/redirects.ts'
import type { Book } from './book.ts'
import { ASKED_AT, authorizationOf } from './credentials.ts'
import type { Gate } from './gate.ts'
import type { Network, Process } from './process.ts'
import { Seats } from './seats.ts'
import type { Request, Server } from './server.ts'
import type { Starts } from './starts.ts'
import type { Words } from './words.ts'

/** The queue sends its own attempts so, and callers' never. */
const isOwn = (init: RequestInit | undefined) => init?.redirect === 'manual'

/** What a process lets start of its own. */
export interface OwnLimits {
  /** undefined: there is no rate. */
  readonly starts: Starts | undefined
  /** Callers' own first attempts count. */
  readonly countsFirst: boolean
}

export class Sends {
  readonly #book: Book
  readonly #process: Process
  readonly #owner: string
  /** Tokens that have arrived and were not used to send, by task. */
  readonly #granted = new Map<string, number>()
  /** Those of them that their store has said too late: what it has granted is begun, whatever has begun meanwhile. */
  readonly #late = new Set<number>()
  /** By the path that a redirect has named: the token of its attempt. */
  readonly #redirected = new Map<string, number>()
  pausedAll = false
  readonly paused: Set<string> = new Set()
  readonly #network: Network | undefined
  readonly #seats: Seats
  readonly #limits: OwnLimits
  readonly #words: Words
  /** What fails when the network does. */
  readonly #open = new Set<() => void>()
  /** Who is there, as far as this process has been told by others. */
  #session: string | null | undefined
  #isLogin = false

  constructor(book: Book, process: Process, owner: string, limits: OwnLimits, words: Words, network?: Network) {
    this.#book = book
    this.#limits = limits
    this.#words = words
    this.#process = process
    this.#owner = owner
    this.#network = network
    this.#seats = new Seats(book)
  }

  /** It was told who is there now, and whether one logs in. */
  follow(session: string | null | undefined, isLogin = false): void {
    this.#session = session
    this.#isLogin = isLogin
  }

  /** The network is gone. */
  cut(): void {
    const open = [...this.#open]
    this.#open.clear()
    for (const fail of open) fail()
  }

  granted(taskId: string, token: number): void {
    const { leases, time } = this.#book
    if ((leases.get(token)?.at ?? 0) < time.elapsed) this.#late.add(token)
    this.#granted.delete(taskId)
    this.#granted.set(taskId, token)
  }

  fetch(server: Server, gate: Gate, url: string, init: RequestInit | undefined): Promise<Response> {
    if (!gate.alive) return new Promise(() => {})
    // nothing of it leaves
    if (init?.signal?.aborted) return Promise.reject(init.signal.reason)
    const request = requestOf(server, new URL(url), init)
    const { pathname } = new URL(url)
    const hop = server.hop(new URL(url)) ? pathname : undefined
    const token = isOwn(init) ? this.#check(request, new Headers(init?.headers), hop) : undefined
    const take = (each: Request) =>
      this.#network ? this.#overNetwork(each, server, gate, init?.signal) : server.take(each, gate, init?.signal)
    const { isRefused } = this.#book.asked.get(request.intent) ?? {}
    const mayNotAsk = this.#process.life?.health.wasHeldUp
    this.#book.expect(
      !isRefused || mayNotAsk === true,
      'S19',
      () => `${request.intent} is sent, and may not be in the store that orders it`,
    )
    const answer = isOwn(init) ? take(request) : followed(server, request, init, take)
    if (token !== undefined) this.#follow(token, answer)
    const isLimited = this.#limits.countsFirst && !mayNotAsk && this.#process.life?.closing === false
    const begins = hop === undefined && !this.#late.has(token ?? 0)
    if (isOwn(init) || isLimited) this.#counts(request, init, begins, token !== undefined, answer)
    answer.then(
      (response) => this.#hears(request, response, server, isOwn(init), token, hop === undefined),
      () => this.#words.lost(request.intent, token),
    )
    return answer
  }

  /** An attempt leaves that the limits of its process are for. */
  #counts(
    { intent, principal, origin }: Request,
    init: RequestInit | undefined,
    begins: boolean,
    isGranted: boolean,
    over: Promise<unknown>,
  ): void {
    const lane = laneName(principal, origin)
    const what = `${this.#owner} sends ${intent}`
    this.#seats.take(what, lane, over)
    if (!begins) return
    const asked = new Headers(init?.headers).get(ASKED_AT)?.split(' ').map(Number)
    const [at = 0, offsetMs = 0] = asked ?? [this.#book.time.elapsed, this.#process.offsetMs]
    const start = { at, by: this.#book.time.elapsed, offsetMs }
    this.#limits.starts?.take(what, `${lane} ${isGranted ? 'stored' : 'in memory'}`, start)
  }

  #follow(token: number, answer: Promise<Response>): void {
    const { running, ended, time } = this.#book
    running.add(token)
    const end = () => {
      running.delete(token)
      ended.set(token, time.elapsed)
    }
    answer.then(({ headers }) => {
      const { pathname = '' } = headers.has('location') ? new URL(headers.get('location') ?? '') : {}
      this.#redirected.set(pathname, token)
      end()
    }, end)
  }

  /** The answer has reached the queue. */
  #hears(
    { intent, principal, origin }: Request,
    { headers }: Response,
    server: Server,
    isOwn: boolean,
    token: number | undefined,
    begins: boolean,
  ): void {
    const said = server.said.get(headers.get('serial') ?? '')
    if (!said) return
    this.#words.hears({ ...said, intent }, isOwn, token)
    const { holdMs } = said
    this.#book.holds.asked(laneName(principal, origin), holdMs)
    if (!begins || holdMs === 0 || said.origin !== origin) return
    const what = `${this.#owner} was asked by ${intent} to wait ${holdMs} ms`
    this.#book.holds.hears(what, laneName(principal, origin), holdMs, this.#tells())
  }

  /** Whether this life of the process can reach its store, at any later moment. */
  #tells(): () => boolean {
    const { life } = this.#process
    return () => life !== undefined && this.#process.ready === life && !life.inMemory && life.isWell
  }

  #overNetwork(
    request: Request,
    server: Server,
    gate: Gate,
    signal: AbortSignal | null | undefined,
  ): Promise<Response> {
    const failed = () => new TypeError('fetch failed')
    return new Promise((resolve, reject) => {
      const fail = () => gate.enter(() => reject(failed()))
      if (!this.#network?.online) return fail()
      this.#open.add(fail)
      server
        .take(request, gate, signal)
        .then(resolve, reject)
        .finally(() => this.#open.delete(fail))
    })
  }

  /** Gives the token that it is sent under. */
  #check({ intent, principal, origin }: Request, headers: Headers, hop: string | undefined): number | undefined {
    const book = this.#book
    const who = `${this.#owner} sends ${intent}`
    const { origins, isUnstored, isOrdered } = book.asked.get(intent) ?? {}
    book.expect(origins?.has(origin) === true, 'S15', () => `${who} to ${origin}, which no caller has named`)
    const authorization = headers.get('authorization')
    const given = authorizationOf(origin, principal)
    book.expect(authorization === given, 'S16', () => `${who} of ${principal} with ${authorization}`)
    // it goes on with what it was sent with
    if (hop !== undefined) return this.#redirected.get(hop)
    book.expect(
      principal === this.#process.principal,
      'S16',
      () => `${who} of ${principal} as ${this.#process.principal}`,
    )
    const { life } = this.#process
    // a store that fails says nothing, and what is in memory goes on
    const mayAsk = life?.health.isLoading === true && !life.inMemory
    const isSure = !mayAsk || book.session === undefined || book.session === principal
    book.expect(isSure, 'S16', () => `${who} of ${principal} and has asked no store; ${book.session} is there`)
    const session = this.#session
    const isThere = session === undefined || session === principal
    book.expect(isThere, 'S16', () => `${who} of ${principal}, and was told that ${session} is there`)
    book.expect(!this.#isLogin, 'S16', () => `${who}, and was told that one logs in`)
    book.expect(!this.#process.life?.isLoggingIn, 'S16', () => `${who}, and ${principal} logs in there`)
    book.expect(!this.pausedAll && !this.paused.has(origin), 'S8', () => `${who}, and is paused`)
    book.expect(this.#process.life?.closing !== true, 'S8', () => `${who}, and is closing`)
    // what is in memory needs no lease. The youngest: a cancelled task may have left its token behind, and its key to another
    const taskId = [...this.#granted.keys()].findLast((id) => {
      const known = book.tasks.get(id)
      return known?.intent === intent && known.principal === principal
    })
    const token = this.#granted.get(taskId ?? '')
    this.#words.sends(intent, origin, token, given !== null)
    const inMemory = isUnstored === true || this.#process.life?.inMemory === true
    if (inMemory && token === undefined) {
      book.expect(isOrdered !== true, 'S19', () => `${who} of an order, and it is not in the store`)
      return undefined
    }
    if (taskId === undefined || token === undefined) {
      book.fail('S3', `${who} without a lease`)
      return undefined
    }
    this.#granted.delete(taskId)
    const isLeft = book.left.get(taskId) === life && !book.tasks.get(taskId)?.redriven
    book.expect(!isLeft, 'S22', () => `${who}, whose caller was told that it failed`)
    const lease = book.leases.get(token)
    const heldMs = lease ? book.time.elapsed - lease.at : Number.POSITIVE_INFINITY
    book.expect(heldMs <= (lease?.forMs ?? 0), 'S3', () => `${who} ${heldMs} ms after its lease was given`)
    return token
  }
}

function requestOf(server: Server, url: URL, init: RequestInit | undefined): Request {
  const headers = new Headers(init?.headers)
  const { origin, searchParams, href } = url
  const known = server.hop(url) ?? bodyOf(init)
  const { intent = searchParams.get('intent') ?? '', principal = searchParams.get('principal') ?? '' } = known
  const sent = `${href} ${[...headers].join(' ')}`
  return { intent, principal, key: headers.get('idempotency-key'), origin, method: init?.method ?? 'GET', sent }
}

/** A caller's own attempt: the platform follows redirects, wherever they lead. */
async function followed(
  server: Server,
  first: Request,
  init: RequestInit | undefined,
  take: (request: Request) => Promise<Response>,
): Promise<Response> {
  let request = first
  for (let hops = 0; hops <= MAX_REDIRECTS; hops++) {
    const response = await take(request)
    const location = response.headers.get('location')
    if (location === null) return response
    const { method } = request
    const next = requestOf(server, new URL(location), init)
    request = { ...next, method: becomesGet(response.status, method) ? 'GET' : method, isPlatforms: true }
  }
  throw new TypeError('fetch failed')
}

function bodyOf(init: RequestInit | undefined): { readonly intent?: string; readonly principal?: string } {
  const { body } = init ?? {}
  if (typeof body === 'string') return JSON.parse(body)
  if (body instanceof Uint8Array) return JSON.parse(new TextDecoder().decode(body))
  return {}
}
