/**
 * redrive/compat/workbox: `Queue` and `BackgroundSyncPlugin` as workbox-background-sync has them, over a `RetryQueue` and its store. For
 * a service worker that is moved from one to the other by changing an import: what Workbox's database still holds is taken over.
 */

export type { QueueEntry } from './workbox/entry.ts'
export { WorkboxQueueError } from './workbox/errors.ts'
export type { PlainOptions, RedriveOptions } from './workbox/options.ts'
export { BackgroundSyncPlugin } from './workbox/plugin.ts'
export { type OnSyncCallback, Queue, type QueueOptions } from './workbox/queue.ts'
