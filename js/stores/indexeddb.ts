/**
 * redrive/indexeddb: tasks in the browser's own database. Any number of tabs may use one database at once, each command
 * being one transaction.
 *
 * An `enqueue` that resolved is on the disk, as far as the browser promises, unless `durability` is 'relaxed'; what is only
 * bookkeeping is written without waiting for it, and after a power cut at worst an attempt is made again.
 */

import type { Step, TaskStore } from '../api/store.ts'
import { check, oneOf, pattern, type Rules } from '../options/check.ts'
import { besideHomes } from './engine/homes.ts'
import { assertStorable } from './engine/sound.ts'
import { runLater } from './engine/step.ts'
import { type Backend, storeOf } from './engine/store.ts'
import { turn, withMended } from './engine/turn.ts'
import { Connection } from './indexeddb/connection.ts'
import { Database } from './indexeddb/database.ts'
import { EnqueueGroup, enqueueAll } from './indexeddb/enqueue-group.ts'
import { hintsOf } from './indexeddb/hints.ts'
import { homesOf, liveHomes } from './indexeddb/homes.ts'
import { LAYOUT, STORES } from './indexeddb/layout.ts'
import { Presence } from './indexeddb/presence.ts'
import { principalsOf } from './indexeddb/principals.ts'
import { reads } from './indexeddb/reads.ts'
import { resolveTerms, TERMS_RULES, type TermsOptions } from './store-options.ts'

export interface IndexedDbStoreOptions extends TermsOptions {
  /** The queue's name: its tasks are in the database `redrive-<name>`. @default 'default' */
  readonly name?: string
  /**
   * 'strict': `enqueue` resolves once the disk has the task, as far as the browser promises. 'relaxed': once the operating system has it, which
   * takes less time. It outlives the page, and the browser even if that is killed; of the last half minute some may be lost where the
   * machine loses power or its system crashes. @default 'strict'
   */
  readonly durability?: 'strict' | 'relaxed'
}

const RULES: Rules<IndexedDbStoreOptions> = {
  ...TERMS_RULES,
  name: pattern('a name', /^[^\0\p{Surrogate}]+$/u),
  durability: oneOf('strict', 'relaxed'),
}

/** Whether the owner of a step may be given leases. A step that only gives them back takes no lock: its page may be being put away. */
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
  const { name = 'default', durability = 'strict' } = options
  const { clock, terms } = resolveTerms('indexedDbStore', options)
  const connection = new Connection({ name: `redrive-${name}`, layout: LAYOUT, stores: STORES })
  const hints = hintsOf(name)
  const presence = new Presence(name, (kind) => hints.tellPage([{ kind }]))
  const database = new Database({ name, connection, hints, presence, clock, terms })
  const group = new EnqueueGroup(async (batches) => {
    const owners = (): string[] => batches().flatMap(({ lease }) => lease?.owner ?? [])
    const outcomes = await database.writeLeases(durability, owners, (tx) => enqueueAll(tx, batches()))
    database.reserve()
    return outcomes
  })
  return {
    ...storeOf(backendOf(database, durability)),
    durability,
    idleCheckMs: null,
    graceMs: 75_000,
    async enqueue(tasks, lease) {
      assertStorable(tasks)
      return group.add(tasks, lease)
    },
    async turn(step) {
      // a page that is put away meanwhile may never run again: it is given nothing that it could not give back
      const isHere = presence.suspensionGuard()
      const owners = (): string[] => (isHere() && needsGuard(step, database.mayBeClaimed) ? [step.owner] : [])
      const made = await database.anyway(() =>
        database.writeTurn('relaxed', owners, async (tx) => {
          tx.isHere = isHere
          // with locks a page asks for homes before it claims
          const live = step.claim && !presence.isAvailable ? await liveHomes(tx) : []
          return runLater(turn(tx, besideHomes(step, live)))
        }),
      )
      return withMended(made, database.takeMended())
    },
    subscribe: (listener) => hints.listen(listener),
    homes: homesOf(database, presence),
    ...(presence.leader && { leader: presence.leader }),
    principals: principalsOf(database, presence),
    suspend() {
      database.suspend()
      presence.suspend()
      hints.suspend()
    },
    async close() {
      await database.close()
      presence.suspend()
      hints.leave()
      connection.close()
    },
  }
}

function backendOf(database: Database, durability: 'strict' | 'relaxed'): Backend<IDBTransaction> {
  return {
    configure(terms, report) {
      database.terms = terms
      if (report) database.report = report
    },
    reads,
    read: (question) => database.read(question),
    write(step, { isDurable, frees }) {
      const write = () => database.write(isDurable ? durability : 'relaxed', (tx) => runLater(step(tx)))
      return frees ? database.anyway(write) : write()
    },
  }
}
