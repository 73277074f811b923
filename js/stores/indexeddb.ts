/**
 * redrive/indexeddb: tasks in the browser's own database. Any number of tabs may use one database at once, each command
 * being one transaction.
 *
 * An `enqueue` that resolved is on the disk, as far as the browser promises (`durability: 'strict'`); what is only
 * bookkeeping is written without waiting for it, and after a power cut at worst an attempt is made again.
 */

import type { Step, TaskStore } from '../api/store.ts'
import { check, pattern, type Rules } from '../options/check.ts'
import { Connection } from './indexeddb/connection.ts'
import { cancel, flush, purge, redrive, unpark } from './indexeddb/control.ts'
import { Database } from './indexeddb/database.ts'
import { enqueue } from './indexeddb/enqueue.ts'
import { EnqueueGroup } from './indexeddb/group.ts'
import { homesOf } from './indexeddb/homes.ts'
import { hubOf } from './indexeddb/hub.ts'
import { LAYOUT, STORES } from './indexeddb/layout.ts'
import { Presence } from './indexeddb/presence.ts'
import { switchTo } from './indexeddb/principals.ts'
import * as reads from './indexeddb/reads.ts'
import { turn } from './indexeddb/turn.ts'
import { resolveTerms, TERMS_RULES, type TermsOptions } from './store-options.ts'

export interface IndexedDbStoreOptions extends TermsOptions {
  /** Of the queue: its tasks are in the database `redrive-<name>`. @default 'default' */
  readonly name?: string
}

const RULES: Rules<IndexedDbStoreOptions> = {
  ...TERMS_RULES,
  name: pattern('a name', /./s),
}

/** Whether its owner may be given leases. One that only gives them back takes no lock: its page may be being put away. */
function needsGuard({ renew, claim }: Step, mayBeClaimed: boolean): boolean {
  return renew.length > 0 || (claim !== null && mayBeClaimed)
}

/**
 * A store in this origin's IndexedDB. Nothing is opened before it is used.
 *
 * For one queue: those that share tasks, in one page or in several, share the name, and each has a store of its own.
 */
export function indexedDbStore(options: IndexedDbStoreOptions = {}): TaskStore {
  check('indexedDbStore', options, RULES)
  const { name = 'default' } = options
  const { clock, terms } = resolveTerms('indexedDbStore', options)
  const connection = new Connection({ name: `redrive-${name}`, layout: LAYOUT, stores: STORES })
  const hub = hubOf(name)
  const presence = new Presence(name, (kind) => hub.tellPage([{ kind }]))
  const database = new Database({ name, connection, hub, presence, clock, terms })
  const group = new EnqueueGroup(async (batches) => {
    const owners = (): string[] => batches().flatMap(({ lease }) => lease?.owner ?? [])
    const outcomes = await database.writeLeases('strict', owners, (tx) => enqueue(tx, batches()))
    database.stow()
    return outcomes
  })
  return {
    durability: 'strict',
    idleCheckMs: null,
    graceMs: 75_000,
    configure(next, report) {
      database.terms = { ...next, retention: { ...next.retention } }
      if (report) database.report = report
    },
    enqueue: (tasks, lease) => group.add(tasks, lease),
    turn(step) {
      // a page that is put away meanwhile may never run again: it is given nothing that it could not give back
      const isHere = presence.attendance()
      return database.anyway(() =>
        database.takeBack(
          'relaxed',
          () => (isHere() && needsGuard(step, database.mayBeClaimed) ? [step.owner] : []),
          (tx, orphans) => turn(tx, step, orphans, isHere),
        ),
      )
    },
    cancel: (taskId, as) => database.anyway(() => database.write('strict', (tx) => cancel(tx, taskId, as))),
    redrive: (taskIds, how) => database.write('strict', (tx) => redrive(tx, taskIds, how)),
    flush: (lane) => database.write('relaxed', (tx) => flush(tx, lane)),
    unpark: (filter) => database.write('relaxed', (tx) => unpark(tx, filter)),
    purge: (filter) => database.anyway(() => database.write('strict', (tx) => purge(tx, filter))),
    body: (taskId) => database.read((tx) => reads.body(tx, taskId)),
    find: (key, principal) => database.read((tx) => reads.find(tx, key, principal)),
    get: (taskId) => database.read((tx) => reads.get(tx, taskId)),
    list: (filter) => database.read((tx) => reads.list(tx, filter)),
    attempts: (taskId, page) => database.read((tx) => reads.attempts(tx, taskId, page)),
    history: (taskId) => database.read((tx) => reads.history(tx, taskId)),
    counts: () => database.read(reads.counts),
    subscribe: (listener) => hub.listen(listener),
    homes: homesOf(database, presence),
    ...(presence.pump && { pump: presence.pump }),
    principals: {
      current: () => database.read(reads.principal),
      switchTo: (principal) => database.write('strict', (tx) => switchTo(tx, principal)),
    },
    rest() {
      presence.rest()
      hub.rest()
    },
    async close() {
      await database.close()
      presence.rest()
      hub.leave()
      connection.close()
    },
  }
}
