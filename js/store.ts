/**
 * redrive/store: the contract of a task store, for those who write one of their own, with the limits that its rules name.
 * `redrive/memory` is its reference. Who uses a store needs nothing of this.
 */

export * from './api/store.ts'
