/**
 * Every error the package throws by itself: here those that a first attempt may meet. Each has a stable `code`, says what happened, and
 * says what to do.
 * Messages name methods, origins and paths as they may be shown, never a query string, a header value or a body.
 */

import type { RetryTask } from './task.ts'

/** Base of every error of the package. */
export class RedriveError extends Error {
  override readonly name: string = 'RedriveError'
  /** Stable, upper case with underscores: `QUEUE_FULL`, `TASK_NOT_FOUND`, ... */
  declare readonly code: string
  /** The task it is about, where there is one. */
  declare readonly task?: RetryTask

  constructor(code: string, message: string, options: { readonly task?: RetryTask; readonly cause?: unknown } = {}) {
    super(message, options)
    this.code = code
    if (options.task) this.task = options.task
  }
}

/** `BODY_NOT_REPLAYABLE`: a one-shot stream in the body, refused at the call: a second attempt would send it empty. With Axios also a body whose bytes are unknown and needed. */
export class BodyNotReplayableError extends RedriveError {
  override readonly name = 'BodyNotReplayableError'
  constructor(what: string, why = 'a stream can be sent once; read it first') {
    super('BODY_NOT_REPLAYABLE', `${what}: ${why}`)
  }
}

/** `WASM_UNAVAILABLE`: the core could not start, so nothing can be queued; plain calls still work. */
export class WasmUnavailableError extends RedriveError {
  override readonly name = 'WasmUnavailableError'
  constructor(cause: Error | undefined) {
    super('WASM_UNAVAILABLE', cause?.message ?? 'the core stopped', { cause })
  }
}

/** `QUEUE_CLOSED`: `close()` was called. */
export class QueueClosedError extends RedriveError {
  override readonly name = 'QueueClosedError'
  constructor(name: string) {
    super('QUEUE_CLOSED', `queue '${name}' is closed; make a new one`)
  }
}
