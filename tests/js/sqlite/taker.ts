// A process that says how many tasks of a file it can claim, and is gone.
import { sqliteStore } from '../../../js/stores/sqlite.ts'
import { fakeClock } from '../../../js/testing/clock.ts'
import { claiming } from './words.ts'

const store = sqliteStore({ path: process.argv[2] ?? '', clock: fakeClock() })
const { claimed } = await store.turn(claiming(100, 'taker'))
process.stdout.write(`${claimed.length}\n`)
process.exit()
