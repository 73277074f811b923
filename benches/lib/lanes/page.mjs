// The same in a page: the package as built, on its IndexedDB.
import { RetryQueue } from '/pkg/index.js'
import { indexedDbStore } from '/pkg/indexeddb.js'
import { ROOM } from '../tasks.mjs'
import { deliver } from './run.mjs'

globalThis.bench = {
  deliver: (name, given) => deliver(RetryQueue, indexedDbStore({ name, ...ROOM }), given),
}
