/** The methods of a store that are the same over every storage. */

import type { Report, StoreTerms, TaskStore } from '../../api/store.ts'
import { checkGiven, checkList, checkPurge } from '../filters.ts'
import { cancel, flush, purge, redrive, unpark } from './control.ts'
import type { Tx } from './port.ts'
import type { Step } from './step.ts'

type Question = 'body' | 'find' | 'get' | 'list' | 'attempts' | 'history' | 'counts' | 'countsOf' | 'unreadable'
type Whole = Required<TaskStore>
type Now<T> = T | Promise<T>

/** The answers of a storage to questions that change nothing. `D`: what it is asked by. */
export type Reads<D> = {
  readonly [Name in Question]: (database: D, ...given: Parameters<Whole[Name]>) => Now<Awaited<ReturnType<Whole[Name]>>>
}

/** The demands of a command on its storage. */
interface Urgency {
  /** Survives a power cut once it has resolved, in a storage that can promise it. */
  readonly isDurable?: boolean
  /** Ends or deletes what is held: has to be possible when there is no more room. */
  readonly frees?: boolean
  /** Whether what it deletes was to be deleted: nothing of it is to be left, in a storage that can promise it. */
  readonly erases?: boolean
}

/** A kind of storage: what `storeOf` needs of it. `enqueue` and `turn` are its own, since it groups the one and prepares the other. */
export interface Backend<D> {
  /** Takes over what may be kept from now on. */
  configure(terms: StoreTerms, report?: Report): void
  readonly reads: Reads<D>
  read<T>(question: (database: D) => Now<T>): Promise<T>
  /** Runs a step in one transaction, and tells what it has changed. */
  write<T>(step: (tx: Tx) => Step<T>, urgency: Urgency): Promise<T>
}

const KEEPS: Urgency = { isDurable: true }
const FREES: Urgency = { isDurable: true, frees: true }
const ERASES: Urgency = { ...FREES, erases: true }
const ARRANGES: Urgency = {}

export function storeOf<D>(
  backend: Backend<D>,
): Pick<Whole, Question | 'configure' | 'cancel' | 'redrive' | 'flush' | 'unpark' | 'purge' | 'purgeAll'> {
  const { reads } = backend
  return {
    configure(terms, report) {
      backend.configure({ ...terms, retention: { ...terms.retention } }, report)
    },
    cancel: (...given) => backend.write((tx) => cancel(tx, ...given), FREES),
    redrive: (taskIds, how) => backend.write((tx) => redrive(tx, taskIds, how), KEEPS),
    flush: (lane) => backend.write((tx) => flush(tx, lane), ARRANGES),
    unpark: async (filter) => {
      checkGiven('unpark', filter, 'principal', 'lane')
      return backend.write((tx) => unpark(tx, filter), ARRANGES)
    },
    purge: async (filter) => {
      const checked = checkPurge('purge', filter)
      return backend.write((tx) => purge(tx, checked), ERASES)
    },
    purgeAll: () => backend.write((tx) => purge(tx, {}), ERASES),
    body: (taskId) => backend.read((database) => reads.body(database, taskId)),
    find: (key, principal) => backend.read((database) => reads.find(database, key, principal)),
    get: (taskId) => backend.read((database) => reads.get(database, taskId)),
    list: async (filter) => {
      checkList(filter)
      return backend.read((database) => reads.list(database, filter))
    },
    attempts: (taskId, page) => backend.read((database) => reads.attempts(database, taskId, page)),
    history: (taskId, most) => backend.read((database) => reads.history(database, taskId, most)),
    counts: () => backend.read((database) => reads.counts(database)),
    unreadable: (page) => backend.read((database) => reads.unreadable(database, page)),
    countsOf: (principal) => backend.read((database) => reads.countsOf(database, principal)),
  }
}
