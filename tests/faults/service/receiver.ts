/**
 * The server to which ends are told: it takes a callback in, fails, breaks off or hangs, as the seed says for each visit, and checks every signature
 * as the library of Standard Webhooks does. It writes down whatever it is told.
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Visit } from '../../servers/start.mjs'
import { chance, sharedBy } from '../options.ts'
import { Desk, type DeskOptions, type Seen } from './desk.ts'
import { type Fault, type Faults, seedOf } from './faults.ts'
import type { SigningKeys } from './signing.ts'

/** What a callback says of a task. */
export interface Message {
  readonly type: string
  readonly timestamp: string
  readonly data: {
    readonly taskId: string
    readonly idempotencyKey: string | null
    readonly tenant: string | null
    readonly targetUrl: string
    readonly lastStatus: number | null
    readonly attemptNumber: number
  }
}

/** A visit with a callback. `intent`: the one in its path. */
export interface CallbackVisit extends Visit {
  readonly text: string
  /** undefined: it is no JSON of that form. */
  readonly message: Message | undefined
  readonly webhookId: string | null
  /** Why its signature is not as its task wants it; null: it is. */
  readonly fault: string | null
}

/** Shares of all visits. */
const FAULTS: Faults = [
  [0.1, { outcome: 'unavailable', status: 503, works: false }],
  [0.04, { outcome: 'broken', status: 500, works: false }],
  [0.02, { outcome: 'unavailable_wait', status: 503, works: false, waits: true }],
  [0.04, { outcome: 'reset_before', status: null, works: false }],
  [0.05, { outcome: 'reset_after', status: null, works: true }],
  [0.005, { outcome: 'hang_after', status: 'hang', works: true }],
]
const DONE: Fault = { outcome: 'done', status: 204, works: true }
const LATENCY_MS: readonly [least: number, most: number] = [2, 40]

export interface ReceiverOptions extends DeskOptions {
  readonly keys: SigningKeys
}

export class Receiver extends Desk<CallbackVisit> {
  readonly #keys: SigningKeys

  constructor({ keys, ...options }: ReceiverOptions) {
    super('receiver', options)
    this.#keys = keys
  }

  protected override async visit(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { note, seed } = this.options
    const name = decodeURIComponent((incoming.url ?? '').slice(1))
    const attempt = this.next(name)
    const blank = { text: '', message: undefined, webhookId: null, fault: null }
    const seen: Seen<CallbackVisit> = Object.assign(this.begun(incoming, outgoing), { intent: name, attempt, ...blank })
    const text = await this.bodyOf(incoming, seen, String)
    if (text === undefined) return
    Object.assign(seen, { text, ...this.#read(name, text, headersOf(incoming)) })
    this.visits.push(seen)
    note('receiver', 'arrival', { intent: name, attempt, key: seen.key, by: seen.by, fault: seen.fault, text })
    const random = chance(seedOf(`${seed}/callback/${name}/${attempt}`))
    const [least, most] = LATENCY_MS
    const fault = sharedBy(FAULTS, random()) ?? DONE
    await this.answer(outgoing, seen, fault, least + random() * (most - least))
  }

  #read(
    name: string,
    text: string,
    headers: Readonly<Record<string, string>>,
  ): Pick<CallbackVisit, 'message' | 'webhookId' | 'fault'> {
    const { signing } = this.byName.get(name)?.callback ?? {}
    const { 'webhook-id': webhookId = null } = headers
    const unasked = webhookId === null && headers['webhook-signature'] === undefined ? null : 'signed, unasked'
    const fault = signing ? (this.#keys.faultOf(signing, text, headers) ?? null) : unasked
    return { message: messageIn(text), webhookId, fault }
  }
}

const headersOf = ({ headers }: IncomingMessage): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))

function messageIn(text: string): Message | undefined {
  try {
    const message = JSON.parse(text) as Message
    return typeof message.type === 'string' && typeof message.data?.taskId === 'string' ? message : undefined
  } catch {
    return undefined
  }
}
