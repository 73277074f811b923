/** What processes are told: when they start, and then what to do. */

import type { CrewOptions } from '../crew.ts'
import type { Order } from '../queue-process.ts'
import type { Break } from './options.ts'

/** The name of the store that all share. */
export const STORE = 'faults'

export interface RedisSetting {
  readonly redisPort: number
  readonly concurrencyPerOrigin: number
  /** How many replicas have each task before it is acknowledged. */
  readonly replicas: number
  readonly breaks?: Break | undefined
}

export type RedisMemberOptions = Omit<CrewOptions, 'breaks'> & RedisSetting & { readonly life: string }

/** An order; `intent` names the request alone where it is none for a new task. */
export interface Request extends Order {
  /** 'again': the same under its key; 'conflict': another under it; 'cancel': the end of a task. */
  readonly kind: 'new' | 'again' | 'conflict' | 'cancel'
  readonly body: { readonly intent: string; readonly of?: string }
  /** Of the target: each is a lane. */
  readonly host: string
  readonly orderKey: string | undefined
  /** The task that it is about. */
  readonly taskId?: string
}
