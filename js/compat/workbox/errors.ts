/** The errors that Workbox's queue has a word for. Its users tell them by `name`, ours by `code`: they have both. */

import { RedriveError } from '../../api/errors.ts'

/** `DUPLICATE_QUEUE_NAME`: this worker has a queue of that name. `QUEUE_REPLAY_FAILED`: a replay ended, and requests are left. */
export class WorkboxQueueError extends RedriveError {
  override readonly name: 'duplicate-queue-name' | 'queue-replay-failed'
  /** The queue's name, where Workbox has it. */
  readonly details: { readonly name: string }

  constructor(name: WorkboxQueueError['name'], queueName: string, message: string) {
    super(name.replaceAll('-', '_').toUpperCase(), message)
    this.name = name
    this.details = { name: queueName }
  }
}
