/** Stores over one file that are wrong about which processes are gone: what the checks are there to notice. */

import { Connection } from '../../js/stores/sqlite/connection.ts'
import { LeaseWatch } from '../../js/stores/sqlite/lease-watch.ts'
import type { Wrong } from './wrong.ts'
import { does } from './wrong-code.ts'

const { exec } = Connection.prototype

export const WRONG_FILE: readonly Wrong[] = [
  { what: 'no process is seen to be gone', breaks: 'L2', breaking: does(LeaseWatch.prototype, 'gone', () => []) },
  {
    what: 'a live process is taken for gone',
    breaks: 'S3',
    // every lock can be had
    breaking: does(Connection.prototype, 'exec', function (this: Connection, sql: string) {
      if (!sql.startsWith('BEGIN; SELECT')) exec.call(this, sql)
    }),
  },
]
