/** The cases with Workbox itself. */
import { BackgroundSyncPlugin } from 'workbox-background-sync/BackgroundSyncPlugin.js'
import { Queue } from 'workbox-background-sync/Queue.js'
import type { QueueLike } from './kit.ts'
import { serveCases } from './serve-cases.ts'

serveCases({
  name: 'workbox',
  open: (name, options) => new Queue(name, options as object) as QueueLike,
  plugin: (name) => new BackgroundSyncPlugin(name) as never,
  givenUp: async () => 0,
  async clear() {
    const opening = indexedDB.open('workbox-background-sync')
    await ended(opening)
    const transaction = opening.result.transaction('requests', 'readwrite')
    const rows = transaction.objectStore('requests')
    rows.clear()
    // its ids go on from here: Workbox takes an id of 0 for none
    rows.add({ id: 1_000 })
    rows.delete(1_000)
    await new Promise((resolve) => {
      transaction.oncomplete = resolve
    })
    opening.result.close()
  },
})

function ended(request: IDBRequest): Promise<unknown> {
  return new Promise((resolve, reject) => {
    request.onsuccess = resolve
    request.onerror = reject
  })
}
