// The same in a page: the package as built, on its IndexedDB.
import { RetryQueue } from '/pkg/index.js'
import { indexedDbStore } from '/pkg/indexeddb.js'
import { ROOM } from '../tasks.mjs'
import { attempts } from './run.mjs'

globalThis.bench = {
  attempts: (name, given) =>
    attempts(RetryQueue, indexedDbStore({ name, ...ROOM }), {
      ...given,
      url: `${location.origin}/seats/`,
      // finds nothing, and writes nothing
      transact: (store) => store.unpark({ lane: 'https://none.test' }),
    }),
}
