/** The options of inbound replay and their checks. What is wrong throws where it is written, when the middleware is made. */

import {
  check,
  fn,
  follow,
  isWellFormed,
  list,
  origin,
  type Rule,
  type Rules,
  text,
  token,
} from '../../options/check.ts'
import type { Settings } from '../../options/queue-options.ts'
import type { ReplyOptions } from './reply.ts'
import type { InboundRequest } from './request.ts'

/** `Original`: a request as the framework has it; with Hono its `Context`. */
export interface InboundOptions<Original = unknown> extends ReplyOptions {
  /**
   * The origin under which this service reaches itself, exactly as `new URL(url).origin` has it. `Host` and `X-Forwarded-*` are never used:
   * they say whatever a client likes.
   */
  readonly origin: string
  /**
   * Which errors may pass. @default those whose `status` or `statusCode` is one of the policy's `retryableStatusCodes`, and errors of the
   * network by their `code`, such as ECONNREFUSED
   */
  readonly match?: (error: unknown, request: InboundRequest) => boolean
  /**
   * Whether a check of yours has found out who sent the request: it is asked once the handler has failed, of a request that would be sent again with
   * more than came with it, which is a credential of the service's own, or its signature. Only `true` keeps such a request. A token that is there says
   * nothing: the database that knows it may be what is away. @default none is kept
   * @example (request) => request.user !== undefined
   */
  authenticated?(request: Original): boolean
  /** The queue's policy for these tasks. Its `maxAttempts`, if it has a name of its own, counts the client's own request. @default 'default' */
  readonly policyId?: string
  /**
   * Marks replays as this service's own: 16 characters or bytes or more, the same in every process behind `origin`. @default drawn when it is
   * first needed, and known to this process alone
   */
  readonly secret?: string | Uint8Array
  /** Headers that a replay does without, such as `cookie`: lower case or not. Of what clients and proxies add, the usual ones are left out anyway. @default none */
  readonly dropHeaders?: readonly string[]
}

const SECRET: Rule = {
  isMute: true,
  expected: 'a secret of 16 characters or bytes or more',
  ok: (given: string | Uint8Array) =>
    (typeof given === 'string' ? isWellFormed(given) : given instanceof Uint8Array) && given.length >= 16,
}

const RULES: Rules<InboundOptions> = {
  origin,
  match: fn,
  authenticated: fn,
  policyId: text,
  secret: SECRET,
  dropHeaders: list(token),
  taskUrl: fn,
}

const WHERE =
  'the URL of a request that came in does not say where it can be sent again; give the origin under which this service reaches itself'

/** Throws a TypeError or RangeError that names the option. `what`: the call, as its users write it. */
export function checkInbound(what: string, options: InboundOptions, queue: Settings): void {
  if (options?.origin === undefined) throw new TypeError(`${what}: expected an origin; ${WHERE}`)
  try {
    follow(`${what}.origin`, options.origin, origin)
  } catch (error) {
    // the words of the rule do not say why there is no default
    throw Object.assign(error as Error, { message: `${(error as Error).message}; ${WHERE}` })
  }
  check(what, options, RULES)
  const { policyId } = options
  if (policyId !== undefined && !queue.policies.has(policyId)) {
    throw new RangeError(`${what}.policyId: expected the name of a policy of the queue, got '${policyId}'`)
  }
  if (queue.durable && queue.store?.durability !== 'memory') return
  throw new TypeError(
    `${what}: expected a queue that is durable: its 202 is a promise, which a queue in memory breaks when its process ends; give it a store, such as sqliteStore()`,
  )
}
