/**
 * Tasks in the SQLite of a Durable Object. There is one such object at a time, wherever it runs, so its store has
 * the tasks to itself.
 *
 * Each method does all its writing before it first waits: what is written together with it (an alarm, say) survives
 * together. An `enqueue` that resolved is where the object's storage is replicated; what is only bookkeeping is not waited
 * for.
 */

import type { RedriveError } from '../api/errors.ts'
import type { NewTask, TaskStore } from '../api/store.ts'
import { check, fn, follow, object, type Rules } from '../options/check.ts'
import type { ObjectDatabase, ObjectStorage } from './durable-object/database.ts'
import { hasParked, nextAt, owners } from './durable-object/next-alarm.ts'
import { tooLarge } from './durable-object/row-limits.ts'
import { lapse, ObjectTasks } from './durable-object/transaction.ts'
import { holdLane } from './engine/change.ts'
import { dueOf } from './engine/due.ts'
import { enqueue } from './engine/enqueue.ts'
import { assertStorable } from './engine/sound.ts'
import { runNow } from './engine/step.ts'
import { type Backend, storeOf } from './engine/store.ts'
import { turn, withMended } from './engine/turn.ts'
import { reads } from './sql/reads.ts'
import { resolveTerms, TERMS_RULES, type TermsOptions } from './store-options.ts'

export type { ObjectStorage } from './durable-object/database.ts'

export interface DurableObjectStoreOptions extends TermsOptions {
  /** `ctx.storage` of an object whose class has SQLite. The tables are made in it; another's of the same names are left alone, and refused. */
  readonly storage: ObjectStorage
  /**
   * Called in the same turn of the event loop as each transaction that has changed something: an alarm that is set here is
   * stored with the change, or neither is. What it throws rejects the call, whose change stays. @default nothing
   */
  readonly wrote?: () => void
}

export interface DurableObjectStore extends TaskStore {
  /**
   * Makes the tables, or brings them up to this version: for the object's constructor, so that no request finds them
   * halfway. Every other method does so too. Throws a `RedriveError`: 'STORAGE_NEWER' where a later version has been here.
   */
  migrate(): void
  /**
   * When a turn would find something to do, in epoch milliseconds: the soonest of due work, ends of leases, deadlines and
   * ends of retention. In the past: now. null: nothing is to be done. Work that limits keep back counts as due, but for that of
   * the lanes in `shut`, which the caller keeps an eye on.
   */
  nextAt(shut?: Iterable<string>): number | null
  /** Whether tasks are parked: `nextAt` has no time for these but that of their deadlines. */
  hasParked(): boolean
  /** Principals with tasks that are due now, or whose lease is over: whom to claim for; 'any': all that have tasks. @default 'due' */
  owners(which?: 'due' | 'any'): readonly (string | null)[]
  /**
   * Ends every lease: for an object that begins, since their holder is gone with the one before it.
   * Their tasks go on with the next turn; an answer that is on its way to the old one is lost, as after a crash.
   */
  lapse(): void
  /** Holds a lane for `forMs`, as a settlement's `holdLaneForMs` does. */
  holdLane(lane: string, forMs: number): void
  /** Why `enqueue` would reject, of code 'RECORD_TOO_LARGE': its texts fit no row. undefined: they do. */
  tooLarge(task: NewTask): RedriveError | undefined
}

const RULES: Rules<DurableObjectStoreOptions> = { ...TERMS_RULES, storage: object, wrote: fn }

/** A store in the object that `storage` belongs to: one store an object. Nothing is written before it is used. */
export function durableObjectStore(options: DurableObjectStoreOptions): DurableObjectStore {
  check('durableObjectStore', options, RULES)
  const { storage, wrote = () => {} } = options
  follow('durableObjectStore.storage', storage, object)
  follow('durableObjectStore.storage.transactionSync', storage.transactionSync, fn)
  const { clock, terms } = resolveTerms('durableObjectStore', options)
  const held = new ObjectTasks(storage, clock, terms, wrote)
  const backend = backendOf(held)
  return {
    ...storeOf(backend),
    due: dueOf(backend),
    durability: 'replicated',
    idleCheckMs: null,
    async enqueue(tasks, lease) {
      assertStorable(tasks)
      for (const task of tasks) {
        const refused = tooLarge(task)
        if (refused) throw refused
      }
      const [outcomes = []] = held.write((tx) => runNow(enqueue(tx, [{ tasks, lease }])))
      await held.sync()
      return outcomes
    },
    turn: async (step) => {
      const made = held.write((tx) => runNow(turn(tx, step)))
      return withMended(made, held.takeMended())
    },
    subscribe: (listener) => held.listen(listener),
    migrate: () => held.read(() => {}),
    nextAt: (shut = []) => held.read((database) => nextAt(database, held.clock, held.terms, shut)),
    hasParked: () => held.read(hasParked),
    owners: (which = 'due') => held.read((database) => owners(database, held.clock, which)),
    lapse: () => held.write(lapse),
    holdLane: (lane, forMs) => held.write((tx) => holdLane(tx, tx.laneNamed(lane), forMs)),
    tooLarge,
    async close() {},
  }
}

function backendOf(held: ObjectTasks): Backend<ObjectDatabase> {
  return {
    configure(terms) {
      held.terms = terms
    },
    reads,
    read: async (question) => held.read(question),
    write: async (step) => held.write((tx) => runNow(step(tx))),
  }
}
