/**
 * The layout of the file. `user_version` numbers it: a higher one than ours is never opened (S20), a lower one is brought up
 * step by step, each in the transaction that raises the number.
 */

import { TABLES } from '../sql/tables.ts'

/** 'rdrv': says whose file it is. */
export const APPLICATION_ID = 0x72647276

const FIRST = `${TABLES}
-- Apart from the tasks: claims never read them.
CREATE TABLE bodies (task INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT;
PRAGMA application_id = ${APPLICATION_ID};
`

/** The i-th brings layout i to layout i + 1. Never changed once published: files in the field were made by them. */
export const MIGRATIONS: readonly string[] = [FIRST]

export const LAYOUT: number = MIGRATIONS.length
