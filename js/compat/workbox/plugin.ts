/** The plugin that Workbox's strategies take: a request that failed goes into a queue. */

import { Queue, type QueueOptions } from './queue.ts'

export class BackgroundSyncPlugin {
  /** Its own: for `retryQueue`, `size()` and the rest. */
  readonly queue: Queue

  constructor(name: string, options?: QueueOptions) {
    this.queue = new Queue(name, options)
  }

  /** A property, as in Workbox, whose strategies call it by itself. */
  readonly fetchDidFail = async ({ request }: { readonly request: Request }): Promise<void> => {
    await this.queue.pushRequest({ request })
  }
}
