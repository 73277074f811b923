/**
 * The way in which one stored task is sent, in a service that sends for everyone. All of it comes of the task's own record: a credential
 * or a connection that the queue had for all of them would be some other tenant's (S16).
 */

import type { Credentials } from '../api/credentials.ts'
import type { Sign } from '../api/sign.ts'
import type { ExhaustedReason } from '../api/task.ts'

/** Takes the place of the queue's options of the same names. */
export interface OwnSending {
  readonly fetch: typeof fetch
  readonly credentials: Credentials
  readonly sign?: Sign | undefined
}

/** An error of such a `fetch` that says by itself what becomes of the task. Its server has heard nothing, or nothing that it can take for the request. */
export interface UnmadeError extends Error {
  readonly unmade: {
    /** The task ends for this: to try again would change nothing. Absent: the attempt is given back, and made later. */
    readonly reason?: ExhaustedReason
    /** Given back, it waits until what is missing may be there. */
    readonly parks?: true
  }
}
