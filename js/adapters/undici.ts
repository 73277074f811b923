/**
 * An interceptor for undici's dispatchers: requests of code that one cannot change are tried again by the rules and gates of a queue, those of the global
 * `fetch` included. It makes calls for as long as their caller waits, as `queue.fetch` does, and keeps nothing beyond that: what is to outlive
 * its process is for `queue.enqueue`.
 *
 * Nothing of undici is imported at run time.
 */

import type { Dispatcher } from 'undici'
import { QueueClosedError } from '../api/errors.ts'
import { type Call, makeCall, patience } from '../call/call.ts'
import { whileThere } from '../call/leaving.ts'
import { check, fn, type Rules } from '../options/check.ts'
import type { TaskOptions } from '../options/task-options.ts'
import { taskPolicies } from '../options/task-policies.ts'
import { TASK_RULES } from '../options/task-rules.ts'
import { internalsOf } from '../queue/internals.ts'
import type { RetryQueue } from '../queue/queue.ts'
import type { QueueContext } from '../runner/context.ts'
import type { UndiciAnswer } from './undici/answer.ts'
import { Downstream } from './undici/downstream.ts'
import { dispatchOwn, guard, isOwn } from './undici/guard.ts'
import { type Bytes, type Request, readRequest } from './undici/request.ts'
import { UndiciTransport } from './undici/transport.ts'

/** Options of a call that hold for all of an interceptor's. Those that name one call, or a task that outlives it, are not among them. */
export interface RetryInterceptorOptions
  extends Pick<
    TaskOptions,
    | 'policyId'
    | 'policy'
    | 'waitMs'
    | 'priority'
    | 'credentials'
    | 'idempotent'
    | 'meta'
    | 'tags'
    | 'shouldRetry'
    | 'delay'
    | 'onRetry'
  > {
  /** Which requests are the queue's; the others are sent once. @default all */
  readonly match?: (request: Dispatcher.DispatchOptions) => boolean
}

const { policyId, policy, waitMs, priority, credentials, idempotent, meta, tags, shouldRetry, delay, onRetry } =
  TASK_RULES
const RULES: Rules<RetryInterceptorOptions> = {
  ...{ policyId, policy, waitMs, priority, credentials, idempotent, meta, tags, shouldRetry, delay, onRetry },
  match: fn,
}

/**
 * An interceptor for `dispatcher.compose()`, whose requests are tried again through `queue`. Left alone, and sent once, are: requests that the queue itself
 * makes; bodies that are streams or undici's `FormData`; upgrades; and what `match` or `idempotent: false` takes out. Where a request
 * sets no `headersTimeout`, the policy's `attemptTimeoutMs` (10 s) limits each attempt, and `waitMs` (30 s) all of them. After
 * `queue.close()` every request is sent once.
 *
 * ```ts
 * setGlobalDispatcher(new Agent().compose(retryInterceptor(queue)))
 * ```
 */
export function retryInterceptor(
  queue: RetryQueue,
  options: RetryInterceptorOptions = {},
): Dispatcher.DispatcherComposeInterceptor {
  const { host, run } = internalsOf(queue, 'retryInterceptor(queue)')
  check('retryInterceptor', options, RULES)
  const { match, ...defaults } = options
  host.checks?.call(defaults, host.settings.policies)
  guard(queue)
  return (dispatch) => (given, handler) => {
    if (isOwn(given)) return dispatchOwn(dispatch, given, handler)
    // the handler of an older undici, as of the one that Node has inside: undici says whether it takes it
    if (!handler.onRequestStart && 'onConnect' in handler) return dispatch(given, handler)
    const isOurs = match?.(given) ?? true
    const request = isOurs ? readRequest(given, host.settings.maxBodyBytes) : undefined
    if (!request) return dispatch(given, handler)
    const downstream = new Downstream(handler)
    const fail = (error: unknown) => downstream.fail(error)
    const give = (answer: UndiciAnswer | Response) =>
      answer instanceof Response ? downstream.play(answer) : answer.giveTo(downstream)
    const send = (call: Call & { readonly transport: UndiciTransport }) => {
      const { transport } = call
      const made = run(call) as Promise<UndiciAnswer | Response>
      made
        .catch((error) => {
          if (!(error instanceof QueueClosedError) || transport.isSent) throw error
          return transport.send({ overlay: null, signal: downstream.signal })
        })
        .then(give)
        .catch(fail)
    }
    try {
      downstream.begin()
      const { body } = request
      const { asked, complete } = callOf(request, given, defaults, downstream, host)
      const callWith = (bytes: Bytes) =>
        complete(new UndiciTransport(dispatch, given, request.headers, bytes, downstream))
      if (!(body instanceof Promise)) send(callWith(body))
      else
        whileThere(asked, host.settings.clock, patience(defaults.waitMs, host.settings.maxBodyBytes), body)
          .then((bytes) => send(callWith(bytes)))
          .catch(fail)
    } catch (error) {
      fail(error)
    }
    return true
  }
}

function callOf(
  { method, url, plain: headers, bytes }: Request,
  { headersTimeout, idempotent }: Dispatcher.DispatchOptions,
  defaults: TaskOptions,
  { signal }: Downstream,
  host: QueueContext,
) {
  // a stored task would lose its dispatcher, and its caller
  const options: TaskOptions = { ...defaults, ...(idempotent && { idempotent }), sensitive: true }
  const { header } = host.settings.idempotency
  const before = headers.get(header)
  const asked = {
    method: method.toUpperCase(),
    url: url.href,
    origin: url.origin,
    headers,
    options,
    ...taskPolicies(host, options),
    signal,
    // undici's own limit, with its own error
    ...(typeof headersTimeout === 'number' && { timeoutMs: 0 }),
  }
  const complete = makeCall(host, asked)
  const key = headers.get(header)
  return {
    asked,
    complete: (transport: UndiciTransport) => {
      if (key !== null && key !== before) transport.putHeader(header, key)
      return { ...complete({ hasBody: bytes > 0, bytes, transport }), transport }
    },
  }
}
