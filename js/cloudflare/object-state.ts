/** What of a Durable Object's state is used; the platform's own type fits. */

import type { ObjectStorage } from '../stores/durable-object.ts'

export interface AlarmStorage {
  getAlarm(): Promise<number | null>
  setAlarm(atMs: number): Promise<void>
  deleteAlarm(): Promise<void>
}

export interface ObjectState {
  readonly storage: ObjectStorage & AlarmStorage
  blockConcurrencyWhile<T>(work: () => Promise<T>): Promise<T>
}
