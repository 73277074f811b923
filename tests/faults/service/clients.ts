/**
 * Clients of the service. They post tasks, and ask again under the same key, at another process, until they are told; a share of them
 * posts twice at once, uses a key for another request, looks at its task, or takes it back. All that they ask and are told is written down.
 */

import { chance, sharedBy } from '../options.ts'
import { wait } from '../runner.ts'
import { type Asked, ask, type Told } from './ask.ts'
import type { Fleet, Life } from './fleet.ts'
import type { Note } from './history.ts'
import { type Addresses, type Intent, taskIn } from './intents.ts'

/** 'again': the same under its key; 'conflict': another request under it; 'stranger': a look at another tenant's task. */
export type CallKind = 'post' | 'again' | 'conflict' | 'get' | 'stranger' | 'cancel' | 'redrive'

export interface Call {
  readonly kind: CallKind
  readonly intent: string
  readonly life: string
  readonly askedAt: number
  readonly endedAt: number
  readonly outcome: Told['kind']
  readonly status?: number
  /** The answer's: of a receipt, of a task, or of a problem that is about one. */
  readonly taskId?: string
  readonly durability?: string
  /** The type of a problem, or the outcome of a cancel. */
  readonly said?: string
  readonly message?: string
  /** Cut before anything had come, on a connection that had carried other requests. */
  readonly isKept?: boolean
}

const CLIENTS = 6
/** Before what was not answered is asked again. */
const AGAIN_MS = 150
const LOOK_MS = 20
/** A client without a process to ask waits for one. */
const PLACELESS_MS = 100
/** Times that one thing is asked: two a second of outage, for minutes. */
const MOST_TRIES = 600
/** Shares of the posts that are made twice at once, and of the acknowledged that are dealt with further. */
const TWICE_SHARE = 0.1
const FURTHER: readonly (readonly [share: number, kind: Exclude<CallKind, 'post' | 'redrive'>])[] = [
  [0.1, 'again'],
  [0.08, 'conflict'],
  [0.15, 'get'],
  [0.04, 'stranger'],
  [0.08, 'cancel'],
]

export interface ClientOptions {
  readonly fleet: Fleet
  readonly intents: readonly Intent[]
  readonly addresses: Addresses
  readonly seed: number
  readonly note: Note
}

export class Clients {
  readonly calls: Call[] = []
  readonly #options: ClientOptions
  readonly #random: () => number
  /** Acknowledged tasks, by intent. */
  readonly #tasks = new Map<string, string>()
  #taken = 0
  /** How many may be taken by now. */
  #given = 0
  #busy = 0
  #isOver = false
  readonly #working: Promise<unknown>

  constructor(options: ClientOptions) {
    this.#options = options
    this.#random = chance(options.seed ^ 0xc11e)
    this.#working = Promise.all(Array.from({ length: CLIENTS }, () => this.#work()))
  }

  get acknowledged(): number {
    return this.#tasks.size
  }

  /** Intents that were asked for, answered or not. */
  get asked(): number {
    return this.#taken
  }

  /** Whether all that was given has been dealt with. */
  get isDone(): boolean {
    return this.#taken === this.#options.intents.length && this.#busy === 0
  }

  /** Lets clients take intents until `share` of all are taken. */
  give(share: number): void {
    this.#given = Math.max(this.#given, Math.ceil(Math.min(1, share) * this.#options.intents.length))
  }

  /** Resolves once no client is at work. What waits to be asked is not. */
  async end(): Promise<void> {
    this.#isOver = true
    await this.#working
  }

  async #work(): Promise<void> {
    while (!this.#isOver) {
      if (this.#taken >= this.#given) {
        await wait(LOOK_MS)
        continue
      }
      const intent = this.#options.intents[this.#taken++] as Intent
      this.#busy++
      await this.#see(intent)
      this.#busy--
    }
  }

  /** One intent, from its post to whatever else its client does about it. */
  async #see(intent: Intent): Promise<void> {
    const { fleet } = this.#options
    const draws = { twice: this.#random(), further: this.#random() }
    const [post, second] = await Promise.all([
      this.#insist('post', intent),
      draws.twice < TWICE_SHARE ? this.#insist('post', intent) : undefined,
    ])
    const { taskId } = post?.taskId === undefined ? (second ?? {}) : post
    if (taskId === undefined) return
    this.#tasks.set(intent.name, taskId)
    const kind = sharedBy(FURTHER, draws.further)
    if (kind === undefined || (kind === 'cancel' && this.#mayStillCome(intent))) return
    if (kind === 'cancel') await wait(this.#random() * 500)
    const at = fleet.pick(post?.life)
    // a cancel is asked once: asked again, it says that the task has ended
    if (kind === 'cancel') {
      if (at) await this.#call(kind, intent, at)
    } else await this.#insist(kind, intent)
  }

  /** A stopped process may take in a post long after its client has left; and one that comes after a cancel is a new task, since that gives up its key. */
  #mayStillCome({ name }: Intent): boolean {
    return this.calls.some(({ kind, intent, outcome }) => kind === 'post' && intent === name && outcome === 'late')
  }

  /** Asks until there is an answer that says more than 'later'. */
  async #insist(kind: CallKind, intent: Intent): Promise<Call | undefined> {
    const { fleet } = this.#options
    let last: Call | undefined
    for (let tries = 0; tries < MOST_TRIES && !this.#isOver; tries++) {
      const at = fleet.pick(last?.life)
      if (!at) {
        await wait(PLACELESS_MS)
        continue
      }
      last = await this.#call(kind, intent, at)
      const { outcome, status = 0 } = last
      if (outcome === 'answered' && status !== 503 && status !== 429) return last
      await wait(AGAIN_MS)
    }
    return last
  }

  async #call(kind: CallKind, intent: Intent, at: Life): Promise<Call> {
    const { note } = this.#options
    const askedAt = Date.now()
    note('client', 'ask', { kind, intent: intent.name, life: at.name })
    const told = await ask(at.url, this.#askedFor(kind, intent), at.agent)
    const call: Call = { kind, intent: intent.name, life: at.name, askedAt, endedAt: Date.now(), ...wordsOf(told) }
    this.calls.push(call)
    note('client', call.outcome, call)
    return call
  }

  #askedFor(kind: CallKind, intent: Intent): Asked {
    const { addresses } = this.#options
    const { name, tenant, key } = intent
    const own = tenantHeader(tenant)
    const path = `/retry-tasks/${this.#tasks.get(name) ?? ''}`
    if (kind === 'get') return { method: 'GET', path, headers: own }
    if (kind === 'stranger') return { method: 'GET', path, headers: tenantHeader(`not-${tenant}`) }
    if (kind === 'cancel') return { method: 'DELETE', path, headers: own }
    const body = kind === 'conflict' ? { intent: `${name}?conflict` } : { intent: name }
    const headers = { ...own, 'idempotency-key': key }
    return { method: 'POST', path: '/retry-tasks', headers, body: taskIn(intent, addresses, body) }
  }
}

/** The caller may act for every tenant, and says for which one it does; for none it says nothing. */
export const tenantHeader = (tenant: string | null): Record<string, string> =>
  tenant === null ? {} : { 'redrive-tenant': tenant }

/** The parts of an answer that the judge needs. */
export function wordsOf(
  told: Told,
): Pick<Call, 'outcome' | 'status' | 'taskId' | 'durability' | 'said' | 'message' | 'isKept'> {
  if (told.kind === 'refused') return { outcome: told.kind, message: told.message }
  if (told.kind === 'cut') return { outcome: told.kind, message: told.message, ...(told.isKept && { isKept: true }) }
  if (told.kind === 'late') return { outcome: told.kind }
  const { taskId, durability, type, outcome, taskStatus, status } = (told.json ?? {}) as Record<string, string>
  const said = outcome ?? type?.replace('urn:redrive:problem:', '') ?? (typeof status === 'string' ? status : undefined)
  return {
    outcome: told.kind,
    status: told.status,
    ...(taskId !== undefined && { taskId }),
    ...(durability !== undefined && { durability }),
    ...(said !== undefined && { said }),
    ...(taskStatus !== undefined && { message: taskStatus }),
  }
}
