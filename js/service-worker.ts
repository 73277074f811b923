/**
 * redrive/service-worker: the same exports for a service worker, where `import()` throws: all that a queue may need is
 * imported with the entry, the core, the store of browsers and the module of keys included.
 */

export * from './background-sync.ts'
export * from './exports.ts'
export { RetryQueue } from './queue/service-worker-queue.ts'
