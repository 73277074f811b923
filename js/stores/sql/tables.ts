/**
 * The tables that both kinds of SQLite have, all but the one of bodies.
 *
 * `attempts` holds the whole history of a task: those that were sent count up from 1, all else counts down from -1 and says
 * after which of them it came. So a version that knows attempts only passes it by.
 *
 * Instants are REAL: they never lose a fraction, and a number past 2^53 reads back instead of throwing.
 */

import { RECORD_SCHEMA } from '../../api/records.ts'
import { LATEST_SCHEMA } from '../engine/rules.ts'

export const LIVE = "status IN ('PENDING', 'IN_FLIGHT')"
/**
 * Tasks that a claim may look at. A query must say the same words to use a partial index, and names it: SQLite would rather take
 * the index by status, which holds every task that waits, and a query that cannot use what it names fails at once.
 */
export const WAITING = "status = 'PENDING' AND dueAt IS NOT NULL AND aside = 0"
/** Tasks that keep their key, and their place in their order: not those that were put aside as damaged. */
export const KEEPING: string = `(aside = 0 OR recordSchema BETWEEN ${RECORD_SCHEMA + 1} AND ${LATEST_SCHEMA})`
/** Tasks that retention may delete: dead letters (1), or what has succeeded or was cancelled (0). */
export const ENDED = "WHERE (status = 'EXHAUSTED') = ? AND endedAt IS NOT NULL AND aside = 0"
/** Lines of a history whose number is one: other code may have written anything there. */
export const NUMBERED = "typeof(n) = 'integer' AND n BETWEEN -1000000000 AND 1000000000"
/** Tasks that a deadline may end. */
export const EXPIRING = "status = 'PENDING' AND deadlineAt IS NOT NULL AND aside = 0"

/** Lanes of which no task has a due time, and which have something to show. */
export const UNDUE = 'readyAt IS NULL AND (pending > 0 OR inFlight > 0 OR heldUntil > 0)'

/**
 * Layout 1, of a file and of an object. Never changed once published: stores in the field were made by it, and what comes
 * later is a migration of each.
 */
export const TABLES: string = `
CREATE TABLE tasks (
  row INTEGER PRIMARY KEY,
  seq INTEGER NOT NULL,
  id TEXT NOT NULL UNIQUE,
  lane TEXT NOT NULL,
  principal TEXT,
  origin TEXT NOT NULL,
  status TEXT NOT NULL,
  reason TEXT,
  idempotencyKey TEXT,
  fingerprint TEXT NOT NULL,
  method TEXT NOT NULL,
  targetUrl TEXT NOT NULL,
  headers TEXT NOT NULL,
  record TEXT NOT NULL,
  recordSchema REAL NOT NULL,
  orderKey TEXT,
  home TEXT,
  priority REAL NOT NULL,
  createdAt REAL NOT NULL,
  dueAt REAL,
  turnAt REAL NOT NULL,
  serverAt REAL NOT NULL,
  deadlineAt REAL,
  deadlineReason TEXT NOT NULL,
  attemptNumber REAL NOT NULL,
  firstAttemptAt REAL,
  refunds INTEGER NOT NULL,
  phase REAL NOT NULL,
  previousDelayMs REAL NOT NULL,
  marks REAL NOT NULL,
  behind INTEGER NOT NULL,
  parked INTEGER NOT NULL,
  cancelAsked INTEGER NOT NULL,
  owner TEXT,
  token INTEGER NOT NULL,
  settledToken INTEGER,
  leaseUntil REAL,
  endedAt REAL,
  bodyBytes INTEGER NOT NULL,
  aside INTEGER NOT NULL
) STRICT;
CREATE INDEX tasks_due ON tasks (lane, priority DESC, dueAt, seq, home) WHERE ${WAITING};
CREATE INDEX tasks_soonest ON tasks (lane, dueAt) WHERE ${WAITING};
CREATE INDEX tasks_leases ON tasks (leaseUntil) WHERE status = 'IN_FLIGHT';
CREATE INDEX tasks_deadlines ON tasks (deadlineAt, seq) WHERE ${EXPIRING};
CREATE INDEX tasks_orders ON tasks (principal, orderKey, behind, seq) WHERE orderKey IS NOT NULL AND ${LIVE};
CREATE INDEX tasks_parked ON tasks (lane) WHERE parked = 1;
CREATE INDEX tasks_keys ON tasks (idempotencyKey, principal) WHERE idempotencyKey IS NOT NULL AND status <> 'CANCELLED';
CREATE INDEX tasks_by_status ON tasks (status, id);
CREATE INDEX tasks_aside ON tasks (id) WHERE aside = 1;
CREATE INDEX tasks_ended ON tasks (status = 'EXHAUSTED', endedAt, seq) WHERE endedAt IS NOT NULL AND aside = 0;

CREATE TABLE attempts (task INTEGER NOT NULL, n INTEGER NOT NULL, log TEXT NOT NULL, PRIMARY KEY (task, n)) STRICT, WITHOUT ROWID;
CREATE TABLE homes (owner TEXT PRIMARY KEY, until REAL NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE lanes (
  name TEXT PRIMARY KEY,
  principal TEXT,
  tasks INTEGER NOT NULL,
  pending INTEGER NOT NULL,
  inFlight INTEGER NOT NULL,
  heldUntil REAL NOT NULL,
  served INTEGER NOT NULL,
  nextDue REAL,
  readyAt REAL
) STRICT, WITHOUT ROWID;
CREATE INDEX lanes_soonest ON lanes (principal, readyAt, name);
CREATE INDEX lanes_empty ON lanes (heldUntil) WHERE tasks = 0;

CREATE TABLE state (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  highWater REAL NOT NULL,
  clockSteps INTEGER NOT NULL,
  lastRow INTEGER NOT NULL,
  lastSeq INTEGER NOT NULL,
  lastToken INTEGER NOT NULL,
  lastServed INTEGER NOT NULL,
  pending INTEGER NOT NULL,
  inFlight INTEGER NOT NULL,
  succeeded INTEGER NOT NULL,
  exhausted INTEGER NOT NULL,
  cancelled INTEGER NOT NULL,
  purged INTEGER NOT NULL,
  bytes INTEGER NOT NULL
) STRICT;
INSERT INTO state VALUES (1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
`

/** Layout 2: the lanes that may start a task are found in the order in which they are served. See `line.ts`. */
export const LINE: string = `
DROP INDEX tasks_due;
CREATE INDEX tasks_due ON tasks (lane, home, priority DESC, dueAt, seq) WHERE ${WAITING};

DROP INDEX lanes_empty;
DROP INDEX lanes_soonest;
ALTER TABLE lanes ADD COLUMN isReady INTEGER NOT NULL DEFAULT 0;
ALTER TABLE lanes ADD COLUMN lookAt REAL;
ALTER TABLE lanes ADD COLUMN holdEndsBy REAL NOT NULL DEFAULT 0;
UPDATE lanes SET lookAt = readyAt, holdEndsBy = heldUntil;
CREATE INDEX lanes_ready ON lanes (principal, name) WHERE isReady = 1;
CREATE INDEX lanes_undue ON lanes (principal, name) WHERE ${UNDUE};
CREATE INDEX lanes_look ON lanes (principal, lookAt) WHERE lookAt IS NOT NULL;
CREATE INDEX lanes_next ON lanes (readyAt) WHERE readyAt IS NOT NULL;
CREATE INDEX lanes_held ON lanes (heldUntil) WHERE heldUntil > 0;

CREATE TABLE line (
  lane TEXT NOT NULL,
  home TEXT NOT NULL,
  principal TEXT,
  inFlight INTEGER NOT NULL,
  rank REAL NOT NULL,
  served INTEGER NOT NULL,
  dueAt REAL NOT NULL,
  PRIMARY KEY (lane, home)
) STRICT, WITHOUT ROWID;
CREATE INDEX line_first ON line (principal, home, inFlight, rank, served, dueAt, lane);
`

/** Layout 3: dead letters take room, so the bytes in use are those of their bodies too. */
export const ROOM: string = `
UPDATE state SET bytes = bytes + (SELECT CAST(total(bodyBytes) AS INTEGER) FROM tasks WHERE status = 'EXHAUSTED');
`

/** Layout 4: what is sent has a checksum, see `engine/sums.ts`. */
export const SUMS: string = `
ALTER TABLE tasks ADD COLUMN bodySum INTEGER;
ALTER TABLE tasks ADD COLUMN requestSum INTEGER;
`
/** The first layout whose rows have them. `addSums` gives them to others. */
export const WITH_SUMS = 4

/** Lists of one principal, and of all dead letters, are read by an index, by a key is found what was cancelled, too, and retention finds the oldest of a principal. */
export const LISTS: string = `
DROP INDEX tasks_by_status;
CREATE INDEX tasks_own ON tasks (status, principal, id);
CREATE INDEX tasks_dead ON tasks (id) WHERE status = 'EXHAUSTED';
DROP INDEX tasks_keys;
CREATE INDEX tasks_keys ON tasks (idempotencyKey, status = 'CANCELLED', principal) WHERE idempotencyKey IS NOT NULL;
CREATE INDEX tasks_ended_own ON tasks (status = 'EXHAUSTED', principal, endedAt, seq) WHERE endedAt IS NOT NULL AND aside = 0;
`
