/** Rows that other code has written, at random. `npm run fuzz -- rows` runs more of them. */

import { test } from 'vitest'
import { durableObjectStore } from '../../js/stores/durable-object.ts'
import { indexedDbStore } from '../../js/stores/indexeddb.ts'
import { sqliteStore } from '../../js/stores/sqlite.ts'
import { edit as editDatabase, freshName } from './indexeddb/setup.ts'
import * as idb from './rows/idb.ts'
import { objectStorage } from './rows/object-storage.ts'
import { spoilRest, spoilTask, unlock } from './rows/sql.ts'
import { type Place, ROWS, SEED, tellAll } from './rows/story.ts'
import { QUICK_FOLDER } from './sqlite/quick-folder.ts'
import { edit, freshPath } from './sqlite/setup.ts'

const PLACES: Readonly<Record<string, () => Place>> = {
  SQLite: () => {
    const path = freshPath(QUICK_FOLDER)
    return {
      open: (clock) => sqliteStore({ path, clock }),
      unlock: () => edit(path, unlock),
      spoil: (taskId, chance) => edit(path, (database) => spoilTask(database, taskId, chance)),
      spoilRest: (chance) => edit(path, (database) => spoilRest(database, chance)),
    }
  },
  IndexedDB: () => {
    const name = freshName()
    return {
      open: (clock) => indexedDbStore({ name, clock }),
      spoil: (taskId, chance) => editDatabase(name, (tx) => idb.spoilTask(tx, taskId, chance)),
      spoilRest: (chance) => editDatabase(name, (tx) => idb.spoilRest(tx, chance)),
    }
  },
  'a Durable Object': () => {
    const { storage, database } = objectStorage()
    return {
      open: (clock) => durableObjectStore({ storage, clock }),
      unlock: () => unlock(database),
      spoil: (taskId, chance) => spoilTask(database, taskId, chance),
      spoilRest: (chance) => spoilRest(database, chance),
    }
  },
}

const only = process.env.REDRIVE_FUZZ_STORE

test.for(Object.entries(PLACES).filter(([name]) => !only || name === only))(
  `S12 S15 S16 S20 %s: whatever is in ${ROWS} rows, from seed ${SEED} on, the other tasks are delivered`,
  { timeout: Math.max(120_000, ROWS * 500) },
  ([, makePlace]) => tellAll(makePlace, ROWS, SEED),
)
