/** Wraps a whole Worker: each of its handlers gets the retrying fetch as an argument more. */

import { fn, follow, object } from '../options/check.ts'
import type { RedriveNamespace } from './namespace.ts'
import { type WorkerFetch, workerFetch } from './worker-fetch.ts'
import type { WorkerFetchOptions } from './worker-options.ts'

type Context = WorkerFetchOptions['ctx']

/** A handler of a Worker, with the retrying fetch behind what the platform gives: `fetch(request, env, ctx, fetch)`, `scheduled(event, env, ctx, fetch)`. */
export type RetryHandler = {
  readonly [name: string]: (event: never, env: never, ctx: never, fetch: WorkerFetch) => unknown
}

/** The bindings that the handlers expect. */
export type EnvOf<Handler> = Handler[keyof Handler] extends (event: never, env: infer Env, ...rest: never) => unknown
  ? Env
  : never

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
 * `options`, or a function of the environment that gives them, are read at each event, since bindings and secrets are only
 * there by then. Throws at once where there is no handler; where the binding is missing, at the event.
 */
export function withRetry<Handler extends RetryHandler>(
  handler: Handler,
  options: WithRetryOptions<EnvOf<Handler>> | ((env: EnvOf<Handler>) => WithRetryOptions<EnvOf<Handler>>) = {},
): WrappedHandler<Handler> {
  follow('withRetry', handler, {
    ...object,
    expected: 'the handlers of a Worker: { fetch(request, env, ctx, fetch) { ... } }',
  })
  const wrapped: Record<string, unknown> = {}
  const handlers = Object.entries(handler)
  if (handlers.length === 0)
    throw new TypeError('withRetry: expected an object with handlers of its own, got one without')
  for (const [name, handle] of handlers) {
    follow(`withRetry.${name}`, handle, fn)
    wrapped[name] = (event: never, env: EnvOf<Handler>, ctx: Context) => {
      const { queue = bound, ...rest } = typeof options === 'function' ? options(env) : options
      return handle.call(handler, event, env as never, ctx as never, workerFetch({ ...rest, queue: queue(env), ctx }))
    }
  }
  return wrapped as unknown as WrappedHandler<Handler>
}

const bound = (env: unknown): RedriveNamespace => (env as { readonly REDRIVE: RedriveNamespace }).REDRIVE
