/** Abort signals, on engines that lack their newer helpers too. */

/** `throwIfAborted` of a signal, which Chrome has from 100 on. */
export function assertNotAborted(signal: AbortSignal | null): void {
  if (signal?.aborted) throw signal.reason ?? new DOMException('aborted', 'AbortError')
}

/** Calls `listener` once `signal` is aborted, now if it is already; returns what takes it back. */
export function whenAborted(signal: AbortSignal, listener: () => void): () => void {
  if (signal.aborted) listener()
  else signal.addEventListener('abort', listener, { once: true })
  return () => signal.removeEventListener('abort', listener)
}

/**
 * Calls `listener` for each event until `signal` is aborted. Not by a listener's own option for that: in a page that a test runner puts
 * together, events are jsdom's and signals Node's, and jsdom refuses those.
 */
export function listen<E>(
  target: EventTarget | undefined,
  type: string,
  listener: (event: E) => void,
  signal: AbortSignal,
): void {
  // a program has no events
  if (!target?.addEventListener) return
  target.addEventListener(type, listener as EventListener)
  // a test runner may have taken its page apart by then
  whenAborted(signal, () => target.removeEventListener?.(type, listener as EventListener))
}

/** `work`, or the reason of `signal` as soon as it is aborted. */
export function orAbort<T>(signal: AbortSignal | null, work: Promise<T>): Promise<T> {
  if (!signal) return work
  return new Promise((resolve, reject) => {
    const unlisten = whenAborted(signal, () => reject(signal.reason))
    work.then(resolve, reject).finally(unlisten)
  })
}

/** `orAbort`, for a caller who may leave: a stream that comes after that has no reader, and its connection is closed. */
export function orLeft<T>(signal: AbortSignal | null, work: Promise<T>): Promise<T> {
  const end = async (answer: unknown) => signal?.aborted && (answer as Response).body?.cancel()
  // that the call fails its caller hears below; that a stream cannot be cancelled leaves nothing to do
  work.then(end).catch(() => {})
  return orAbort(signal, work)
}

/** Aborts when either does, the body included. */
export function bothSignals(caller: AbortSignal | null, own: AbortSignal): AbortSignal {
  if (!caller) return own
  if (AbortSignal.any) return AbortSignal.any([caller, own])
  // Chrome < 116, Safari < 17.4
  const both = new AbortController()
  for (const signal of [caller, own]) whenAborted(signal, () => both.abort(signal.reason))
  return both.signal
}
