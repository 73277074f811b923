/**
 * How a task of the service is sent: by the connections of its own tenant, with the credential and the signature that its record names
 * and that its tenant may have at this moment, and with the body that its record keeps or refers to. Whatever a record says was
 * written by other code: it is read as strictly as a request.
 */

import type { Readable } from 'node:stream'
import { RedriveError, type Sign } from 'redrive'
import type { OwnSending, UnmadeError } from 'redrive/internal'
import type { StoredTask } from 'redrive/store'
import { ENDS, type End } from './api/ends.ts'
import type { BodySources } from './bodies/body-sources.ts'
import { bodyIn, type TaskBodies, type TaskBody } from './bodies/task-bodies.ts'
import type { Credentials } from './credentials.ts'
import { NAME_SHAPE } from './named.ts'
import type { Signing } from './signing.ts'
import type { Send } from './transport.ts'

/** Where a task tells its end. */
export type Callback = {
  readonly url: string
  readonly on: readonly End[]
  /** Keys that sign it, by their name. */
  readonly signing?: string
}

/** The part of a task that only this service reads. */
export type SenderData = {
  readonly credential?: string
  readonly signing?: string
  readonly callback?: Callback
  readonly body?: TaskBody
}

export interface SendingParts {
  readonly send: Send
  /** Asked for each attempt, so that a reload takes effect at once. */
  credentials(): Credentials
  /** Likewise. */
  signing(): Signing
  /** Absent: bodies lie with their tasks alone. */
  readonly bodies: Pick<TaskBodies, 'open'> | undefined
  readonly sources: Pick<BodySources, 'refuse' | 'open'>
  /** Hears why a task was parked for what it names. */
  refused(why: string): void
}

/** `NAME_REFUSED`: a task names what it may not have by now. It is parked, unsent, until its settings have changed. */
class NameRefusedError extends RedriveError implements UnmadeError {
  override readonly name = 'NameRefusedError'
  readonly unmade = { parks: true } as const
  constructor(what: string) {
    super('NAME_REFUSED', `not sent: ${what}, by the settings of the service`)
  }
}

const NO_CREDENTIALS = {}

export function sendingOf(record: StoredTask, parts: SendingParts): OwnSending {
  const { credentials, signing, refused } = parts
  const { principal, targetUrl, taskId } = record
  const { attemptTimeoutMs } = record.policy
  // a name that is found late is no answer that is late: before its time is over the attempt is given back
  const nameWithinMs = attemptTimeoutMs ? attemptTimeoutMs / 2 : Number.POSITIVE_INFINITY
  const send: Send = (tenant, url, init, how) => parts.send(tenant, url, init, { ...how, nameWithinMs })
  const names = senderDataOf(record)
  const body = bodyIn(record)
  const { origin } = new URL(targetUrl)
  const give = names.credential === undefined ? undefined : credentials().giverOf(names.credential, principal, origin)
  const sign = names.signing === undefined ? undefined : signing().signerOf(names.signing, principal, taskId)
  const open = body && openerOf(body, principal, parts)
  const refusal = [give, sign, open].find((each) => typeof each === 'string')
  const own = body && typeof open === 'function' ? new OwnBody(body.bytes, open) : undefined
  return {
    fetch: async (url, init = {}) => {
      if (refusal !== undefined) {
        refused(refusal)
        throw new NameRefusedError(refusal)
      }
      // a redirect may have made a GET of it
      const isWhole = !own || init.method === 'GET'
      return isWhole ? send(principal, String(url), init) : own.send(send, principal, String(url), init)
    },
    credentials: typeof give === 'function' ? { [origin]: give } : NO_CREDENTIALS,
    sign: typeof sign === 'function' ? (own ? own.signing(sign) : sign) : undefined,
  }
}

type Open = () => Promise<Readable>

/** Opens the body of a task, or says why this service may not. */
function openerOf(body: TaskBody, tenant: string | null, { bodies, sources }: SendingParts): Open | string {
  if ('source' in body) return sources.refuse(body.source, tenant) ?? (() => sources.open(body, tenant))
  return bodies ? () => bodies.open(body) : 'there is no store of bodies'
}

/** A body that lies elsewhere, on its way to the target. */
class OwnBody {
  readonly #bytes: number
  readonly #open: Open
  /** Read for the signature, which covers all of it. */
  #whole: Uint8Array | undefined
  #failed: unknown

  constructor(bytes: number, open: Open) {
    this.#bytes = bytes
    this.#open = open
  }

  /** Signs over the bytes of the body. Where they cannot be had, it is not the signature that has failed: `send` says so. */
  signing(sign: Sign): Sign {
    return async (request) => {
      try {
        const parts: Uint8Array[] = []
        for await (const part of await this.#open()) parts.push(part as Uint8Array)
        this.#whole = Buffer.concat(parts)
      } catch (error) {
        this.#failed = error
        return {}
      }
      return sign({ ...request, body: this.#whole })
    }
  }

  async send(send: Send, tenant: string | null, url: string, init: RequestInit): Promise<Response> {
    if (this.#failed !== undefined) throw this.#failed
    if (this.#whole) return send(tenant, url, { ...init, body: this.#whole as Uint8Array<ArrayBuffer> })
    const stream = await this.#open()
    try {
      return await send(tenant, url, init, { streamed: { stream, bytes: this.#bytes } })
    } catch (error) {
      const { errored } = stream
      stream.destroy()
      // what broke off was the body, and not the connection to the target
      throw errored && 'unmade' in errored ? errored : error
    }
  }
}

/** Throws where it is none of this service's making: such a task is put aside, and not sent without what it names. */
export function senderDataOf({
  senderData = {},
}: Pick<StoredTask, 'senderData'>): Pick<SenderData, 'credential' | 'signing' | 'callback'> {
  const { credential, signing, callback } = senderData
  return {
    ...nameIn('credential', credential),
    ...nameIn('signing', signing),
    ...(callback !== undefined && { callback: callbackIn(callback) }),
  }
}

function nameIn<Name extends string>(what: Name, value: unknown): { readonly [name in Name]?: string } {
  if (value === undefined) return {}
  if (typeof value === 'string' && NAME_SHAPE.test(value)) return { [what]: value } as { [name in Name]: string }
  throw new TypeError(`senderData.${what}: expected a name`)
}

function callbackIn(given: unknown): Callback {
  const { url, on, signing } = given as { readonly [name: string]: unknown }
  const isUrl = typeof url === 'string' && URL.canParse(url)
  if (!isUrl || !Array.isArray(on) || !on.every((end) => ENDS.includes(end))) {
    throw new TypeError('senderData.callback: expected a URL and the ends that it is for')
  }
  return { url, on, ...nameIn('signing', signing) }
}
