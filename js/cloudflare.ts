/**
 * redrive/cloudflare: a fetch for Workers that tries again while the request lives, and a Durable Object that keeps and
 * delivers what takes longer. Nothing runs, draws or is timed when it is imported.
 */

export { objectName, type RedriveNamespace, type Taken } from './cloudflare/namespace.ts'
export { RedriveObject } from './cloudflare/object.ts'
export type { ObjectRun, RedriveObjectOptions } from './cloudflare/object-options.ts'
export { type RetryHandler, type WithRetryOptions, type WrappedHandler, withRetry } from './cloudflare/with-retry.ts'
export { type WorkerFetch, workerFetch } from './cloudflare/worker-fetch.ts'
export type { WorkerFetchOptions } from './cloudflare/worker-options.ts'
export { type DurableObjectStore, type DurableObjectStoreOptions, durableObjectStore } from './stores/durable-object.ts'
