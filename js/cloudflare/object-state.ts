/** The part of a Durable Object's state that is used here; the platform's own type fits it. */

import type { ObjectStorage } from '../stores/durable-object.ts'

export interface AlarmStorage {
  getAlarm(): Promise<number | null>
  setAlarm(atMs: number): Promise<void>
  deleteAlarm(): Promise<void>
}

export interface ObjectState {
  /** Without a `name` where the object was not made by one, or by a platform that does not tell. */
  readonly id: { readonly name?: string | undefined }
  readonly storage: ObjectStorage & AlarmStorage
  blockConcurrencyWhile<T>(work: () => Promise<T>): Promise<T>
}
