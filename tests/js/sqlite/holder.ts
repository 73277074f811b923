// A process, or a thread of one, that claims what it finds in a file, is a home besides where it is told to, says so, and stays.
import { isMainThread, parentPort, workerData } from 'node:worker_threads'
import { sqliteStore } from '../../../js/stores/sqlite.ts'
import { fakeClock } from '../../../js/testing/clock.ts'
import { claiming } from './words.ts'

const [path, owner, role] = (isMainThread ? process.argv.slice(2) : workerData) as readonly string[]
const store = sqliteStore({ path: path ?? '', clock: fakeClock() })
if (role === 'home') await store.homes?.holdHome(owner ?? '', 30_000)
const { claimed } = await store.turn(claiming(100, owner))
if (isMainThread) process.stdout.write(`${claimed.length}\n`)
else parentPort?.postMessage(claimed.length)
// a store that nothing refers to any more lets go of its lock
setInterval(() => store, 1_000)
