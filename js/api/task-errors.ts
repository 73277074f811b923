/** The errors that only a task can cause, or a call that was to become one: a page gets them with the core's chunk. */

import { RedriveError } from './errors.ts'
import type { ExhaustedReason, RetryTask } from './task.ts'

/** The facts about a task that was given up. */
export interface ExhaustedFacts {
  readonly task: RetryTask
  /** Attempts begun. */
  readonly attempts: number
  /** Status of the last answer. null: the last attempt had none, or there was no attempt. */
  readonly responseStatus: number | null
}

/** `EXHAUSTED`: the task ended without success; `reason` says which rule ended it, the message what to do next. */
export class ExhaustedError extends RedriveError {
  override readonly name = 'ExhaustedError'
  readonly reason: ExhaustedReason
  readonly attempts: number
  readonly responseStatus: number | null
  constructor(reason: ExhaustedReason, message: string, { task, attempts, responseStatus }: ExhaustedFacts) {
    super('EXHAUSTED', message, { task })
    this.reason = reason
    this.attempts = attempts
    this.responseStatus = responseStatus
  }
}

/** `QUEUE_FULL`: nothing was stored, nothing evicted. */
export class QueueFullError extends RedriveError {
  override readonly name = 'QueueFullError'
  constructor(message: string) {
    super('QUEUE_FULL', message)
  }
}

/** The facts about an open circuit. */
export interface OpenCircuit {
  readonly origin: string
  /** When it opened, in epoch milliseconds. */
  readonly since: number
  /** When it lets a call through to try the server out, in epoch milliseconds. null: a call that does so is under way. */
  readonly until: number | null
}

/** `CIRCUIT_OPEN`: the breaker of this origin is open, so an awaited call was not sent. */
export class CircuitOpenError extends RedriveError implements OpenCircuit {
  override readonly name = 'CircuitOpenError'
  readonly origin: string
  readonly since: number
  readonly until: number | null
  /** `cause`: what `fallback` threw, if it did. */
  constructor(message: string, { origin, since, until }: OpenCircuit, cause?: unknown) {
    super('CIRCUIT_OPEN', message, cause === undefined ? {} : { cause })
    this.origin = origin
    this.since = since
    this.until = until
  }
}

/** `IDEMPOTENCY_CONFLICT`: the same key was used for another request. */
export class IdempotencyConflictError extends RedriveError {
  override readonly name = 'IdempotencyConflictError'
  constructor(message: string) {
    super('IDEMPOTENCY_CONFLICT', message)
  }
}

/** `SETTLED_ELSEWHERE`: another tab finished the task while this one was frozen. */
export class SettledElsewhereError extends RedriveError {
  override readonly name = 'SettledElsewhereError'
  readonly responseStatus: number | null
  constructor(message: string, responseStatus: number | null) {
    super('SETTLED_ELSEWHERE', message)
    this.responseStatus = responseStatus
  }
}

/** `STORAGE_FULL`: the store refused the task; those it holds are safe. */
export class StorageFullError extends RedriveError {
  override readonly name = 'StorageFullError'
  constructor(message: string, options: { readonly cause?: unknown } = {}) {
    super('STORAGE_FULL', message, options)
  }
}

/** The thing that keeps a call out of the store. 'in_memory': its key belongs to a task that is in memory. 'no_store': the queue has none, in a Worker or on another server. */
export type NotDurableReason = 'headers_withheld' | 'url_secret' | 'storage_unavailable' | 'in_memory' | 'no_store'

/** `NOT_DURABLE`: a queue that is durable, or runs in a Worker, was handed a call that it cannot store. Nothing was queued; the message names the option that allows it. */
export class NotDurableError extends RedriveError {
  override readonly name = 'NotDurableError'
  readonly reason: NotDurableReason
  constructor(reason: NotDurableReason, message: string, options: { readonly cause?: unknown } = {}) {
    super('NOT_DURABLE', message, options)
    this.reason = reason
  }
}
