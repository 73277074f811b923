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

serveCases({
  name: 'redrive',
  open: (name, options) => new Queue(name, { ...(options as QueueOptions), redrive }),
  plugin: (name) => new BackgroundSyncPlugin(name, { redrive }),
  clear: async () => {},
  async givenUp(queue) {
    const { tasks } = await (queue as Queue).retryQueue.deadLetters.list()
    return tasks.length
  },
})
