/** A request in Workbox's queue. */
export interface QueueEntry {
  readonly request: Request
  /** When it was first queued, in epoch milliseconds: `maxRetentionTime` counts from then. @default now */
  readonly timestamp?: number
  /** Kept beside the request and never sent: what JSON can hold, 4,096 bytes at most with the rest that is noted of it. */
  readonly metadata?: object
}
