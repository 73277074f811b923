/** What both default entries export beside the class. */

export type { Clock } from './clock.ts'
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
} from './errors.ts'
export type { BreakerOptions, RetryBudgetOptions } from './gate-options.ts'
export type {
  IdempotencyOptions,
  RetentionOptions,
  RetryQueueOptions,
  SanitizeOptions,
  TaskOptions,
} from './options.ts'
export type { BackoffStrategy, JitterType, RetryPolicy } from './policy.ts'
export { presets } from './presets.ts'
export type { RedriveInit } from './request.ts'
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
} from './stores/store.ts'
export type * from './types.ts'
