/** The exports that the default entries share, beside the class. */

export type * from './api/credentials.ts'
export { BodyNotReplayableError, QueueClosedError, RedriveError, WasmUnavailableError } from './api/errors.ts'
export type * from './api/events.ts'
export type * from './api/hooks.ts'
export { type RedriveMark, type RedriveResponse, redriveOf } from './api/mark.ts'
export type * from './api/methods.ts'
export type { BackoffStrategy, ExpectedAnswer, GivenPolicy as RetryPolicy, JitterType } from './api/policy.ts'
export type { Sign, SignRequest } from './api/sign.ts'
export type { OriginStats, QueueStats } from './api/stats.ts'
export type { TaskStore } from './api/store.ts'
export type * from './api/task.ts'
export {
  CircuitOpenError,
  ExhaustedError,
  IdempotencyConflictError,
  NotDurableError,
  type NotDurableReason,
  type OpenCircuit,
  QueueFullError,
  SettledElsewhereError,
  StorageFullError,
} from './api/task-errors.ts'
export type { EnqueueInit, RedriveInit } from './call/read-fetch.ts'
export type { BreakerOptions, RateOptions, RetryBudgetOptions } from './options/gate-options.ts'
export type { IdempotencyOptions } from './options/idempotency.ts'
export { presets } from './options/presets.ts'
export type { GivenOptions as RetryQueueOptions } from './options/queue-options.ts'
export type { RetentionOptions } from './options/retention.ts'
export type { SanitizeOptions } from './options/sanitize.ts'
export type { TaskOptions } from './options/task-options.ts'
export type { Clock } from './platform/clock.ts'
