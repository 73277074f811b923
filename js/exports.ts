/** What both default entries export beside the class. */

export {
  BodyNotReplayableError,
  CircuitOpenError,
  ExhaustedError,
  IdempotencyConflictError,
  QueueClosedError,
  QueueFullError,
  RedriveError,
  SettledElsewhereError,
  StorageFullError,
  WasmUnavailableError,
} from './api/errors.ts'
export type {
  Carry,
  Claim,
  DeadlineReason,
  Enqueued,
  LaneView,
  Lease,
  NewTask,
  Settlement,
  Step,
  StoredTask,
  StoreTerms,
  TaskStore,
  Turn,
} from './api/store.ts'
export type * from './api/types.ts'
export type { RedriveInit } from './call/read-fetch.ts'
export type { BreakerOptions, RetryBudgetOptions } from './options/gate-options.ts'
export type { BackoffStrategy, JitterType, RetryPolicy } from './options/policy.ts'
export { presets } from './options/presets.ts'
export type {
  IdempotencyOptions,
  RetentionOptions,
  RetryQueueOptions,
  SanitizeOptions,
  TaskOptions,
} from './options/queue-options.ts'
export type { Clock } from './platform/clock.ts'
