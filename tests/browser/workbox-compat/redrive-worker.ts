/** The cases with the facade. Its waits are short: how long they are is the policy's affair. */
import { BackgroundSyncPlugin, Queue, type QueueOptions } from '../../../js/compat/workbox.ts'
import { serveCases } from './serve-cases.ts'

const redrive: QueueOptions['redrive'] = {
  drainMs: 6_000,
  warn: false,
  policy: { strategy: 'fixed', initialDelayMs: 500, jitterType: 'NONE' },
  breaker: false,
  retryBudget: false,
}

const opened: Queue[] = []

serveCases({
  name: 'redrive',
  open(name, options) {
    const queue = new Queue(name, { ...(options as QueueOptions), redrive })
    opened.push(queue)
    return queue
  },
  plugin: (name) => new BackgroundSyncPlugin(name, { redrive }),
  // one that has requests left goes on, and would send them over the network of the next case
  clear: async () =>
    void (await Promise.all(opened.splice(0).map(({ retryQueue }) => retryQueue.close({ drainMs: 0 })))),
  async givenUp(queue) {
    const { tasks } = await (queue as Queue).retryQueue.deadLetters.list()
    return tasks.length
  },
})
