import { Global, Module, type OnApplicationShutdown } from '@nestjs/common'
import { RetryQueue } from 'redrive'
import { sqliteStore } from 'redrive/sqlite'

const queue = {
  provide: RetryQueue,
  useFactory: () => new RetryQueue({ store: sqliteStore({ path: process.env.TASKS ?? 'tasks.db' }) }),
}

/** One queue for the whole application, which is closed with it: what was enqueued stays in the file. */
@Global()
@Module({ providers: [queue], exports: [queue] })
export class QueueModule implements OnApplicationShutdown {
  constructor(private readonly queue: RetryQueue) {}

  onApplicationShutdown(): Promise<void> {
    return this.queue.close()
  }
}
