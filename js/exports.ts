/** The exports that the default entries share, beside the class. */

export type * from './api/credentials.ts'
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
export type * from './api/events.ts'
export type * from './api/methods.ts'
export type { BackoffStrategy, JitterType, RetryPolicy } from './api/policy.ts'
export type { OriginStats, QueueStats } from './api/stats.ts'
export type {
  Carry,
  Claim,
  DeadlineReason,
  Enqueued,
  LaneView,
  Lease,
  NewTask,
  OwnCounts,
  Settlement,
  Step,
  StoredTask,
  StoreTerms,
  TaskStore,
  Turn,
} from './api/store.ts'
export type * from './api/task.ts'
export type { RedriveInit } from './call/read-fetch.ts'
export type { BreakerOptions, RetryBudgetOptions } from './options/gate-options.ts'
export { presets } from './options/presets.ts'
export type {
  IdempotencyOptions,
  RetentionOptions,
  RetryQueueOptions,
  SanitizeOptions,
} from './options/queue-options.ts'
export type { TaskOptions } from './options/task-options.ts'
export type { Clock } from './platform/clock.ts'
