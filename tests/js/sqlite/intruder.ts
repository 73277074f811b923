// A process that opens a file whose log was deleted under another one, stores a task, and holds the file for a moment.
import { DatabaseSync } from 'node:sqlite'
import { setTimeout } from 'node:timers/promises'
import { sqliteStore } from '../../../js/stores/sqlite.ts'
import { taskOf } from './words.ts'

const [path = ''] = process.argv.slice(2)
const store = sqliteStore({ path })
await store.enqueue([taskOf(100)])
const database = new DatabaseSync(path)
database.exec('BEGIN IMMEDIATE')
process.stdout.write('held\n')
await setTimeout(300)
database.exec('COMMIT')
database.close()
process.stdout.write(`${(await store.enqueue([taskOf(101)]))[0]?.outcome}\n`)
await store.close()
