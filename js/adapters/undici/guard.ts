/**
 * Tells the queues' own requests from others. A queue sends by `fetch`, and the global `fetch` sends by the global dispatcher: without this,
 * an attempt of a queue would be a call of the interceptor, and be tried again inside of that attempt.
 */

import { AsyncLocalStorage } from 'node:async_hooks'
import type { Dispatcher } from 'undici'
import { observe } from '../../queue/observe.ts'

/** Set while an attempt of a queue is made. One for all: the requests of each guarded queue are known to the interceptor of any. */
const attempting = new AsyncLocalStorage<true | undefined>()
/** On the options of a request that a queue has sent, for another interceptor further in. */
const OWN: unique symbol = Symbol('redrive')
const guarded = new WeakSet<object>()

type Marked = Dispatcher.DispatchOptions & { readonly [OWN]?: true }

/** Has all attempts of a queue known, however they are sent. */
export function guard(queue: object): void {
  if (guarded.has(queue)) return
  guarded.add(queue)
  observe(queue, { attempt: (_, __, next) => attempting.run(true, next) })
}

/** Whether a queue makes this request: an attempt, or part of one. */
export const isOwn = (request: Marked): boolean => request[OWN] === true || attempting.getStore() === true

/** Dispatches an attempt. Not within it: the connection that it opens serves requests of others after it. */
export function dispatchOwn(
  dispatch: Dispatcher.Dispatch,
  request: Dispatcher.DispatchOptions,
  handler: Dispatcher.DispatchHandler,
): boolean {
  const marked: Marked = { ...request, [OWN]: true }
  return attempting.run(undefined, () => dispatch(marked, handler))
}
