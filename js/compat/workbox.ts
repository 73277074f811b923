/**
 * redrive/compat/workbox: `Queue` and `BackgroundSyncPlugin` as workbox-background-sync has them, over a `RetryQueue` and its store. For
 * a service worker that is moved from one to the other by changing an import: what Workbox's database still holds is taken over.
 */

export { WorkboxQueueError } from './workbox/errors.ts'
export type { OnSyncCallback, QueueEntry, QueueOptions, RedriveOptions } from './workbox/options.ts'
export { BackgroundSyncPlugin } from './workbox/plugin.ts'
export { Queue } from './workbox/queue.ts'
