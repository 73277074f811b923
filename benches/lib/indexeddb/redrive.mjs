// The package as built, in a page.
import { RetryQueue } from '/pkg/index.js'
import { indexedDbStore } from '/pkg/indexeddb.js'
import { queueOptions, ROOM } from '../tasks.mjs'
import { ORIGINS } from './requests.mjs'

export const openStore = (durability = 'strict') => indexedDbStore({ name: 'bench', durability, ...ROOM })

/** A queue on that database whose requests go to `fetch`; its origins take keys from another one. */
export const openQueue = (fetch, durability) =>
  new RetryQueue(queueOptions(openStore(durability), fetch, { idempotency: { origins: ORIGINS } }))

/** Fetches the core's chunk and starts it, as another queue of the page may have. */
export async function startCore() {
  const queue = new RetryQueue({ durable: false, fetch: async () => new Response() })
  const { taskId } = await queue.enqueue(`${location.origin}/`)
  await queue.result(taskId)
}
