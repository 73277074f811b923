// Whoever keeps requests in IndexedDB, each as its own documentation has it used. `prepare` is not timed: a service
// worker is handed its Request, and nobody is charged for making rows. `strict`: it waits for the disk, which Chromium
// does only where it is asked to.
import { Dexie } from 'dexie'
import { openDB } from 'idb'
import localforage from 'localforage'
import { open, written } from './raw.mjs'
import { openQueue, openStore } from './redrive.mjs'
import { rowFor, taskFor } from './requests.mjs'
import { workboxPeer } from './workbox.mjs'

const forEver = () => new Promise(() => {})

/** Every peer: `one` takes what `prepare` gave and resolves once it is kept, `many` a list of it. */
export const peers = {
  'redrive, queue': { strict: true, open: () => keepInQueue('strict') },
  'redrive, queue, relaxed': { strict: false, open: () => keepInQueue('relaxed') },
  'redrive, store': { strict: true, open: () => keepInStore('strict') },
  'redrive, store, relaxed': { strict: false, open: () => keepInStore('relaxed') },
  'redrive, store, as a list': {
    strict: true,
    onlyLists: true,
    async open() {
      const store = openStore()
      return { prepare: taskFor, many: (list) => store.enqueue(list) }
    },
  },
  'workbox pushRequest, in a page': {
    strict: false,
    open: async () => workboxPeer(),
  },
  'workbox pushRequest, in its service worker': {
    strict: false,
    async open() {
      await navigator.serviceWorker.register('/worker.js', { type: 'module' })
      const { active } = await navigator.serviceWorker.ready
      return {
        /** Timed where it happens, without the way there. */
        timed: async (count, atOnce) => {
          const { port1, port2 } = new MessageChannel()
          active.postMessage({ count, atOnce }, [port2])
          const { data } = await new Promise((resolve) => {
            port1.onmessage = resolve
          })
          if (data.error) throw new Error(data.error)
          return data.ms
        },
      }
    },
  },
  'localforage setItem': {
    strict: false,
    async open() {
      const forage = localforage.createInstance({ name: 'bench', driver: localforage.INDEXEDDB })
      const one = (row) => forage.setItem(row.id, row)
      return { prepare: rowFor, one, many: (list) => Promise.all(list.map(one)) }
    },
  },
  'Dexie add, bulkAdd': { strict: false, open: () => keepInDexie('relaxed') },
  'Dexie add, bulkAdd, strict': { strict: true, open: () => keepInDexie('strict') },
  'idb add, one transaction': {
    strict: false,
    async open() {
      const database = await openDB('bench', 1, {
        upgrade: (made) => void made.createObjectStore('tasks', { keyPath: 'id' }),
      })
      return {
        prepare: rowFor,
        one: (row) => database.add('tasks', row),
        many: (list) => {
          const tx = database.transaction('tasks', 'readwrite')
          return Promise.all([...list.map((row) => tx.store.add(row)), tx.done])
        },
      }
    },
  },
  'raw IndexedDB': { strict: true, open: () => openRaw('strict') },
  'raw IndexedDB, relaxed': { strict: false, open: () => openRaw('relaxed') },
}

async function openRaw(durability) {
  const database = await open('bench', (made) => made.createObjectStore('tasks', { keyPath: 'id' }))
  const many = (list) =>
    written(database, 'tasks', durability, (store) => {
      for (const row of list) store.add(row)
    })
  return { prepare: rowFor, one: (row) => many([row]), many }
}

async function keepInQueue(durability) {
  const queue = openQueue(forEver, durability)
  queue.pause()
  await queue.ready
  const one = ({ url, init }) => queue.enqueue(url, init)
  return { prepare: (request) => request, one, many: (list) => Promise.all(list.map(one)) }
}

async function keepInStore(durability) {
  const store = openStore(durability)
  const one = (task) => store.enqueue([task])
  return { prepare: taskFor, one, many: (list) => Promise.all(list.map(one)) }
}

async function keepInDexie(durability) {
  const table = dexieTable(durability)
  return { prepare: rowFor, one: (row) => table.add(row), many: (list) => table.bulkAdd(list) }
}

export function dexieTable(chromeTransactionDurability = 'relaxed') {
  const database = new Dexie('bench', { chromeTransactionDurability })
  database.version(1).stores({ tasks: 'id, dueAt' })
  return database.table('tasks')
}
