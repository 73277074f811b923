// The contract again, with every other call made by another tab: what each remembers is out of date each time.
import { afterAll, beforeAll, vi } from 'vitest'
import type { TaskStore } from '../../../js/api/store.ts'
import { storeContract } from '../store-contract.ts'
import { freshName, openInOtherTab, openStore } from './setup.ts'

// an owner is of one tab; here it is of both, and they would wait for each other's lock
beforeAll(() => {
  vi.stubGlobal('navigator', {})
})
afterAll(() => {
  vi.unstubAllGlobals()
})

storeContract('indexeddb in two tabs', async (terms) => {
  const name = freshName()
  return alternating(openStore(name, terms), await openInOtherTab(name, terms))
})

/** Hints between tabs take their time, and homes are used by this itself: neither is shown. */
function alternating(...tabs: readonly TaskStore[]): TaskStore {
  let calls = 0
  const next = (): TaskStore => tabs[calls++ % tabs.length] as TaskStore
  /** What a tab has seen of the time and not written, no other knows: so each writes something. */
  const step = async <T>(work: (tab: TaskStore) => Promise<T>): Promise<T> => {
    const tab = next()
    const result = await work(tab)
    await tab.homes?.holdHome('whoever keeps the time', 1)
    return result
  }
  return {
    durability: 'strict',
    idleCheckMs: null,
    configure(terms) {
      for (const tab of tabs) tab.configure?.(terms)
    },
    enqueue: (...args) => step((tab) => tab.enqueue(...args)),
    turn: (...args) => step((tab) => tab.turn(...args)),
    cancel: (...args) => step((tab) => tab.cancel(...args)),
    redrive: (...args) => step((tab) => tab.redrive(...args)),
    flush: (...args) => step((tab) => tab.flush(...args)),
    unpark: (filter) => step(async (tab) => (await tab.unpark?.(filter)) ?? 0),
    purge: (...args) => step((tab) => tab.purge(...args)),
    purgeAll: () => step((tab) => tab.purgeAll()),
    body: (...args) => next().body(...args),
    find: (...args) => next().find(...args),
    get: (...args) => next().get(...args),
    list: (...args) => next().list(...args),
    attempts: (...args) => next().attempts(...args),
    history: async (taskId, most) => (await next().history?.(taskId, most)) ?? [],
    counts: () => next().counts(),
    countsOf: async (principal) => (await next().countsOf?.(principal)) ?? { pending: 0, inFlight: 0, exhausted: 0 },
    principals: {
      current: async () => (await next().principals?.current()) ?? { principal: undefined },
      switchTo: async (...declared) => next().principals?.switchTo(...declared),
      logIn: async (...login) => next().principals?.logIn(...login),
    },
    async close() {
      for (const tab of tabs) await tab.close()
    },
  }
}
