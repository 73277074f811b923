/** Several queues, each a process of its own, on one store, one server and one virtual clock. */

import type { TaskStore } from '../../js/api/store.ts'
import { RetryQueue, type RetryQueueOptions } from '../../js/index.ts'
import { type MemoryStore, memoryStore } from '../../js/stores/memory.ts'
import { type FakeClock, fakeClock, type ScriptedServer, scriptedServer } from '../../js/testing.ts'
import {
  closeNow,
  type Events,
  type HitsAfter,
  heard,
  hitsOf,
  NO_GATES,
  PLAIN_CURVE,
  type Said,
  script,
} from './setup.ts'

export interface Process {
  readonly queue: RetryQueue
  readonly events: Events
}

export interface World {
  readonly clock: FakeClock
  readonly store: MemoryStore
  readonly server: ScriptedServer
  /** One more process; its queue has looked what is in the store. */
  open(options?: RetryQueueOptions): Promise<Process>
  close(process: Process): Promise<void>
  readonly hitsAfter: HitsAfter
}

/** `store` with some of its methods replaced. */
export function withMethods(store: TaskStore, own: Partial<TaskStore>): TaskStore {
  return new Proxy<TaskStore>(store, {
    get(_, name) {
      const value: unknown = Reflect.get(own, name) ?? Reflect.get(store, name)
      return typeof value === 'function' ? value.bind(store) : value
    },
  })
}

/** A world whose store fails with `error` while there is one, where its method is one of those. */
export function faulty(
  methods: RegExp = /^(enqueue|turn|counts)$/,
  own: (store: TaskStore) => Partial<TaskStore> = () => ({}),
): World & { error: unknown } {
  const fault = { error: undefined as unknown }
  const it = world((store) => {
    const whole = withMethods(store, own(store))
    return new Proxy<TaskStore>(whole, {
      get(_, name) {
        const value: unknown = Reflect.get(whole, name)
        const isHit = fault.error !== undefined && typeof value === 'function' && methods.test(String(name))
        return isHit ? () => Promise.reject(fault.error) : value
      },
    })
  })
  return Object.assign(fault, it)
}

let seed = 0n

export function world(wrap: (store: MemoryStore) => TaskStore = (store) => store): World {
  const clock = fakeClock()
  const store = memoryStore({ clock })
  const server = scriptedServer({ clock })
  return {
    clock,
    store,
    server,
    async open(options = {}) {
      const policy = { ...PLAIN_CURVE, ...options.policy }
      const given = {
        clock,
        fetch: server.fetch,
        store: wrap(store),
        principal: null,
        seed: ++seed,
        ...NO_GATES,
        ...options,
        policy,
      }
      const queue = new RetryQueue(given)
      const events = heard(queue, clock)
      await queue.ready
      return { queue, events }
    },
    close: ({ queue }) => closeNow(queue, clock),
    hitsAfter: hitsOf(clock, server),
  }
}

/** One process of a world, whose server gives `answers`. */
export async function opened(options?: RetryQueueOptions, ...answers: readonly Said[]): Promise<World & Process> {
  const made = world()
  script(made.server, answers)
  return { ...made, ...(await made.open(options)) }
}
