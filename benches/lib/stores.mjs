// Stores of the package in Node, and queues on them. Files lie in a folder that is gone afterwards.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { memoryStore, RetryQueue, sqliteStore } from './package.mjs'
import { queueOptions, ROOM } from './tasks.mjs'

const folder = mkdtempSync(join(tmpdir(), 'redrive-bench-'))
let files = 0
process.on('exit', () => rmSync(folder, { recursive: true }))

export const newFile = () => join(folder, `${++files}.db`)
export const openSqlite = (path = newFile()) => sqliteStore({ path, ...ROOM })
export const openMemory = () => memoryStore(ROOM)

/** A queue whose requests are answered by `fetch`, with room for everything. */
export const openQueue = (store, fetch, more) => new RetryQueue(queueOptions(store, fetch, more))
