/**
 * redrive/sqlite: tasks in a file, over Node's own SQLite (Node 22.13 or later). Any number of store objects and processes
 * may use one file at once.
 *
 * An `enqueue` that resolved has been synced to the disk; what is only bookkeeping is written without waiting for it, and
 * after a power cut at worst an attempt is made again. Calls are synchronous inside: each takes well under a millisecond, and
 * the disk is waited for beside the event loop, unless the log is written into the file. A file that another process holds is tried again for 5 s, while all else goes on.
 */

import { setImmediate } from 'node:timers/promises'
import type { Step, TaskStore, Turn } from '../api/store.ts'
import { check, follow, int, objectLike, oneOf, pattern, type Rules } from '../options/check.ts'
import type { RetentionOptions } from '../options/retention.ts'
import type { Clock } from '../platform/clock.ts'
import { dueOf } from './engine/due.ts'
import { besideHomes } from './engine/homes.ts'
import { assertStorable } from './engine/sound.ts'
import { runNow } from './engine/step.ts'
import { type Backend, storeOf } from './engine/store.ts'
import { turn, withMended } from './engine/turn.ts'
import type { Database } from './sql/database.ts'
import { ownLanesByName } from './sql/own-counts.ts'
import { reads } from './sql/reads.ts'
import { StoreFile } from './sqlite/file.ts'
import { flush } from './sqlite/flush.ts'
import { EnqueueGroup } from './sqlite/group.ts'
import { hasHomes, holdHome, homesIn, liveHomes } from './sqlite/homes.ts'
import { LeaseWatch } from './sqlite/lease-watch.ts'
import { isIdle, losesBody, losesDue, losesSettled } from './sqlite/lost-rows.ts'
import { roomOn } from './sqlite/open.ts'
import { pausesOf, registryOf } from './sqlite/registry.ts'
import { ownShare } from './sqlite/shares.ts'
import type { FileTransaction } from './sqlite/transaction.ts'
import { unreportedOf } from './sqlite/unreported.ts'
import { resolveTerms, TERMS_RULES } from './store-options.ts'

export interface SqliteStoreOptions {
  /** The file, which is one queue's: all who open it share its tasks, whatever their `name`. Made if it is not there, its folder is not. Beside it lie `-wal`, of up to 16 MiB, `-shm` and the folder `-owners` while it is in use, and from the first task on `-reserve`, 1 MiB for when the disk is full. */
  readonly path: string
  /** For tests: see `redrive/testing`. @default the system's */
  readonly clock?: Clock
  /** How often a queue looks for what other processes have put into the file, and for those that have died: one question, unless something has changed. Within a process it hears of it at once. 10 to 3,600,000. @default 1_000 */
  readonly idleCheckMs?: number
  /** Tasks pending, in flight or dead letters, until a queue says otherwise. 1 to 1,000,000. @default 10_000 */
  readonly capacity?: number
  /** Their bodies, in bytes. @default 50 MiB */
  readonly capacityBytes?: number
  /** How long tasks that have ended are kept, until a queue says otherwise. @default `{}` */
  readonly retention?: RetentionOptions
  /**
   * Tasks of all principals stand in one line: for a sender of many tenants that looks up the credentials of each task by itself. A queue is
   * one principal's at a time, and its file is not for everyone. A file with tasks of the other kind is refused (`STORAGE_OTHER_LINE`).
   * @default false: each principal has a line of its own
   */
  readonly everyone?: true
}

const RULES: Rules<SqliteStoreOptions> = {
  ...TERMS_RULES,
  // such a store would be empty again after each `close`
  path: pattern("the path of a file (for tasks in memory: 'redrive/memory')", /^(?!:memory:$)[^\0\p{Surrogate}]+$/u),
  idleCheckMs: int(10, 3_600_000),
  everyone: oneOf(true),
}

/**
 * A store in a SQLite file: tasks survive the end of the process, and all processes of the machine that open the file share them. Needs
 * Node 22.13 or later. Nothing is opened before the first use.
 *
 * @example
 * const queue = new RetryQueue({ store: sqliteStore({ path: 'orders.db' }) })
 */
export function sqliteStore(options: SqliteStoreOptions): TaskStore {
  check('sqliteStore', options, RULES, objectLike("{ path: 'orders.db' }"))
  follow('sqliteStore.path', options.path, RULES.path)
  const { path, idleCheckMs = 1_000 } = options
  const { clock, terms } = resolveTerms('sqliteStore', options)
  const everyone = options.everyone === true
  const file = new StoreFile(path, clock, terms, everyone)
  const group = new EnqueueGroup(file, clock)
  // twice as often as others' work: a process that dies right after a look is found by the next check but one
  const watch = new LeaseWatch(file, clock, idleCheckMs / 2)
  const backend = backendOf(file)
  return {
    ...storeOf(backend),
    durability: 'strict',
    ...(everyone && { everyone }),
    idleCheckMs,
    async enqueue(tasks, lease) {
      const calledAt = clock.monotonic()
      assertStorable(tasks)
      if (lease) await watch.guard(lease.owner)
      return group.add(tasks, lease, calledAt)
    },
    async turn(asked) {
      if (asked.claim || asked.renew.length > 0) await watch.guard(asked.owner)
      if (asked.claim) await group.commitFirst()
      const made = await watch.writeTurn((tx) => {
        const step = besideHomes(everyone ? ofAll(asked) : asked, asked.claim ? homesIn(tx) : [])
        const made = runNow(turn(tx, step))
        if (losesRows(file, tx, step, made)) file.suspectDamage()
        return tx.ledger?.completed(made) ?? made
      })
      return withMended(made, file.takeMended())
    },
    body: async (taskId) =>
      file.read((database) => {
        const bytes = reads.body(database, taskId)
        if (bytes === undefined && losesBody(database, taskId)) file.suspectDamage()
        return bytes
      }),
    flush: (lane) => flush(file, lane),
    due: dueOf(backend),
    ...(everyone && unreportedOf(file)),
    subscribe: (listener) => file.listen(listener),
    registry: registryOf(file),
    pauses: pausesOf(file),
    homes: {
      async holdHome(owner, forMs) {
        if (forMs > 0) await watch.guard(owner)
        await file.write((tx) => holdHome(tx, owner, forMs))
      },
      async live() {
        const gone = watch.gone()
        // asked before every turn, and most often there are none
        if (!(await file.read(hasHomes))) return []
        const live = await file.write(liveHomes)
        return live.filter((owner) => !gone.includes(owner))
      },
    },
    room: () => roomOn(path),
    gather: () => setImmediate(),
    hasChanged: async () => file.hasToLook || (await file.hasChanged()) || watch.gone().length > 0,
    async close() {
      await group.commitAll()
      await watch.leave()
      await file.close()
    },
  }
}

/** In a file for everyone all lanes stand in the line of no principal. */
const ofAll = (step: Step): Step => ({ ...step, claim: step.claim && { ...step.claim, principal: null } })

/** Whether an index of the file has kept something from a turn. What was not settled costs a look each time, what was not claimed now and then. */
const losesRows = (file: StoreFile, tx: FileTransaction, step: Step, made: Turn): boolean =>
  losesSettled(tx.database, step, made) ||
  (step.claim !== null && isIdle(step, made) && file.mayLook(!made.nextInMs) && losesDue(tx, step.owner, step.claim))

const countsOf: typeof reads.countsOf = (database, principal) => ({
  ...ownLanesByName(database, principal),
  ...ownShare(database, principal),
})

/** Only enqueues wait for the disk: see above. */
function backendOf(file: StoreFile): Backend<Database> {
  return {
    configure(terms, report) {
      file.terms = terms
      if (report) file.hear(report)
    },
    reads: file.everyone ? { ...reads, countsOf } : reads,
    read: async (question) => file.read(question),
    write: (step, { erases = false }) => file.write((tx) => runNow(step(tx)), { erases }),
  }
}
