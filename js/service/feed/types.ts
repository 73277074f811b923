/** The words of the live view: its events, and what a listener asks for. */

import type { TaskStore } from 'redrive'
import type { Enqueued, NewTask } from 'redrive/store'

export const FEED_TYPES = [
  'queued',
  'attempt',
  'retry',
  'succeeded',
  'exhausted',
  'cancelled',
  'circuit',
  'alert',
] as const
export type FeedType = (typeof FEED_TYPES)[number]

export interface FeedEvent {
  readonly type: FeedType
  /** Its tenant; undefined: of no one tenant, for those who see all. */
  readonly tenant: string | null | undefined
  /** undefined: of no one origin. */
  readonly origin: string | undefined
  /** Absent: of no one task. */
  readonly taskId?: string
  readonly data: object
}

/** The wishes of a listener, and what it may see. */
export interface Asked {
  /** Absent: all. */
  readonly types?: ReadonlySet<FeedType>
  readonly origin?: string
  /** The tenant that it listens for; null: none, or all. */
  readonly tenant: string | null
  /** Whether an event of this tenant is the listener's to see; undefined: one of no tenant. */
  sees(tenant: string | null | undefined): boolean
  /** Asked now and then: whether it may go on. */
  mayGoOn(): boolean
  /** The last event that it has heard, where it was connected before. */
  readonly lastEventId?: string
}

/** The live view as the API has it. */
export interface Listening {
  /** Stores tasks, and sends `queued` of each before what else happens to it: a turn may claim one while the store waits for the disk. */
  enqueue(store: Pick<TaskStore, 'enqueue'>, tasks: readonly NewTask[]): Promise<readonly Enqueued[]>
  /** The stream of a new listener; undefined: there are too many. */
  listen(asked: Asked): ReadableStream<Uint8Array<ArrayBuffer>> | undefined
}
