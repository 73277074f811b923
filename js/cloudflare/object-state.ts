/** The part of a Durable Object's state that is used here; the platform's own type fits it. */

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
