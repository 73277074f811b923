/** Makes a file and dies in the midst of it, with more written than fits into memory: what undoes it lies beside it. */

import process from 'node:process'
import { DatabaseSync } from 'node:sqlite'

const [path = ''] = process.argv.slice(2)
const database = new DatabaseSync(path)
database.exec(
  'PRAGMA journal_mode = DELETE; CREATE TABLE first (x); DROP TABLE first; PRAGMA cache_size = 2; BEGIN; CREATE TABLE halves (x)',
)
const insert = database.prepare('INSERT INTO halves VALUES (randomblob(4000))')
for (let i = 0; i < 200; i++) insert.run()
process.kill(process.pid, 'SIGKILL')
