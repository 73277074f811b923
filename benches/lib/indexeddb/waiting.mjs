// A database in which many tasks wait, and how each way finds what to do first when a page is opened on it.
import localforage from 'localforage'
import { claimOf, fill } from '../tasks.mjs'
import { dexieTable } from './peers.mjs'
import { open, written } from './raw.mjs'
import { openQueue, openStore, startCore } from './redrive.mjs'
import { newRequest, rowFor, taskFor } from './requests.mjs'
import { workboxPeer } from './workbox.mjs'

const openForage = () => localforage.createInstance({ name: 'bench', driver: localforage.INDEXEDDB })

const fillStore = async (count) => {
  const store = openStore()
  await fill(store, count, () => taskFor(newRequest()))
  await store.close()
}

/** The first row is the library's own work, the others are made after it: `pushRequest` would take minutes. */
async function fillAlike(name, storeName, count, next) {
  const database = await open(name)
  for (let from = 1; from < count; from += 1_000) {
    await written(database, storeName, 'relaxed', (store) => {
      for (let i = from; i < Math.min(count, from + 1_000); i++) store.add(...next())
    })
  }
  database.close()
}

/** Milliseconds of `work`. */
async function millis(work) {
  const start = performance.now()
  await work()
  return performance.now() - start
}

/** Milliseconds until the first request goes out. */
const untilFetch = (start) =>
  millis(
    () =>
      new Promise((resolve, reject) => {
        setTimeout(() => reject(new Error('no request within 10 s')), 10_000)
        start(() => {
          resolve()
          return new Promise(() => {})
        }).catch(reject)
      }),
  )

const startQueue = async (fetch) => void openQueue(fetch)

/** `origin`: of the database, which several ways may share. `fill` is given with one of them. */
export const ways = {
  'redrive, store: open and claim': {
    origin: 'redrive',
    fill: fillStore,
    takeUp: () =>
      millis(async () => {
        const claim = claimOf({ limit: 1 })
        const { claimed } = await openStore().turn({ owner: 'bench', settle: [], renew: [], claim })
        if (claimed.length !== 1) throw new Error(`claimed ${claimed.length} tasks`)
      }),
  },
  'redrive, queue: to its first request': { origin: 'redrive', takeUp: () => untilFetch(startQueue) },
  'redrive, queue, the core started before': {
    origin: 'redrive',
    async takeUp() {
      await startCore()
      return untilFetch(startQueue)
    },
  },
  'workbox: replay, to its first request': {
    origin: 'workbox',
    async fill(count) {
      const peer = workboxPeer()
      await peer.one(peer.prepare(newRequest()))
      const database = await open('workbox-background-sync')
      const store = database.transaction('requests').objectStore('requests')
      const [{ id: _, ...first }] = await new Promise((resolve) => {
        store.getAll().onsuccess = ({ target }) => resolve(target.result)
      })
      database.close()
      await fillAlike('workbox-background-sync', 'requests', count, () => {
        const { url, bytes, at } = newRequest()
        return [{ ...first, timestamp: at, requestData: { ...first.requestData, url, body: bytes.buffer } }]
      })
    },
    takeUp: () =>
      untilFetch(async (fetch) => {
        globalThis.fetch = fetch
        await workboxPeer().queue.replayRequests()
      }),
  },
  'workbox: getAll': { origin: 'workbox', takeUp: () => millis(() => workboxPeer().queue.getAll()) },
  'localforage: iterate': {
    origin: 'localforage',
    async fill(count) {
      const first = rowFor(newRequest())
      await openForage().setItem(first.id, first)
      await fillAlike('bench', 'keyvaluepairs', count, () => {
        const row = rowFor(newRequest())
        return [row, row.id]
      })
    },
    takeUp: () =>
      millis(async () => {
        let first
        await openForage().iterate((row) => {
          if (first === undefined || row.dueAt < first.dueAt) first = row
        })
        if (first === undefined) throw new Error('localforage is empty')
      }),
  },
  'Dexie: first by an index on the due time': {
    origin: 'dexie',
    async fill(count) {
      const table = dexieTable()
      for (let from = 0; from < count; from += 1_000) {
        await table.bulkAdd(Array.from({ length: Math.min(1_000, count - from) }, () => rowFor(newRequest())))
      }
      table.db.close()
    },
    takeUp: () =>
      millis(async () => {
        const first = await dexieTable().where('dueAt').belowOrEqual(Date.now()).first()
        if (first === undefined) throw new Error('Dexie is empty')
      }),
  },
}
