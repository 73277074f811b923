/** Wraps a whole Worker: each of its handlers gets the retrying fetch as an argument more. */

import { fn, follow, object } from '../options/check.ts'
import type { WorkerEnv } from './env.ts'
import type { RedriveNamespace } from './namespace.ts'
import { type WorkerFetch, workerFetch } from './worker-fetch.ts'
import type { WorkerFetchOptions } from './worker-options.ts'

type Context = WorkerFetchOptions['ctx']
type Handle = (event: never, env: never, ctx: never, fetch: WorkerFetch) => unknown

/**
 * The handlers of a Worker, with the retrying fetch behind what the platform gives: `fetch(request, env, ctx, fetch)`,
 * `scheduled(event, env, ctx, fetch)`. Parameters without a type of their own have those of here.
 */
export interface RetryHandler<Env = WorkerEnv> {
  fetch?(request: Request, env: Env, ctx: Context, fetch: WorkerFetch): unknown
  scheduled?(
    event: { readonly scheduledTime: number; readonly cron: string; noRetry(): void },
    env: Env,
    ctx: Context,
    fetch: WorkerFetch,
  ): unknown
  queue?(
    batch: { readonly queue: string; readonly messages: readonly QueueMessage[]; ackAll(): void; retryAll(): void },
    env: Env,
    ctx: Context,
    fetch: WorkerFetch,
  ): unknown
  readonly [name: string]: Handle | undefined
}

interface QueueMessage {
  readonly id: string
  readonly timestamp: Date
  readonly body: unknown
  readonly attempts: number
  ack(): void
  retry(): void
}

export interface WithRetryOptions<Env> extends Omit<WorkerFetchOptions, 'queue' | 'ctx'> {
  /** Where the binding is. @default env.REDRIVE */
  readonly queue?: (env: Env) => RedriveNamespace
}

/** The handlers with the arguments that the platform passes. */
export type WrappedHandler<Handler> = {
  readonly [Name in keyof Handler]: Handler[Name] extends (
    event: infer Event,
    env: infer Env,
    ...rest: never
  ) => infer Result
    ? (event: Event, env: Env, ctx: Context) => Result
    : never
}

/**
 * A Worker whose handlers get a `fetch` that retries, as one argument more. A call that keeps failing moves to a Durable Object, which goes
 * on with it, and the handler gets a 202.
 *
 * `options`, or a function of the environment that gives them, are read at each event, since bindings and secrets are only
 * there by then. Throws at once where there is no handler; where the binding is missing, at the event.
 *
 * @example
 * export class Outbox extends RedriveObject {}
 * export default withRetry({
 *   async fetch(request, env, ctx, fetch) {
 *     return fetch('https://api.example.com/orders', { method: 'POST', body: await request.text() })
 *   },
 * })
 */
export function withRetry<Handler extends RetryHandler<Env>, Env = WorkerEnv>(
  handler: Handler & RetryHandler<Env>,
  options: WithRetryOptions<Env> | ((env: Env) => WithRetryOptions<Env>) = {},
): WrappedHandler<Handler> {
  follow('withRetry', handler, {
    ...object,
    expected: 'the handlers of a Worker: { fetch(request, env, ctx, fetch) { ... } }',
  })
  const wrapped: Record<string, unknown> = {}
  const handlers = Object.entries(handler) as [string, Handle][]
  if (handlers.length === 0)
    throw new TypeError('withRetry: expected an object with handlers of its own, got one without')
  for (const [name, handle] of handlers) {
    follow(`withRetry.${name}`, handle, fn)
    wrapped[name] = (event: never, env: Env, ctx: Context) => {
      const { queue = bound, ...rest } = typeof options === 'function' ? options(env) : options
      return handle.call(handler, event, env as never, ctx as never, workerFetch({ ...rest, queue: queue(env), ctx }))
    }
  }
  return wrapped as unknown as WrappedHandler<Handler>
}

const bound = (env: unknown): RedriveNamespace => (env as { readonly REDRIVE: RedriveNamespace }).REDRIVE
