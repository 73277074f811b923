/**
 * One transaction on an open connection: it ends complete, with the work's own error, or with an error that says what
 * the storage made of it. It never hangs.
 */

import type { Clock } from '../../platform/clock.ts'
import { Lost, nameOf, translated } from './failures.ts'

/** Longest that a transaction may wait for its turn, for an answer, or for its end, in real milliseconds. */
const SILENCE_MS = 10_000

export interface TransactionTerms {
  readonly stores: readonly string[]
  readonly mode: 'readonly' | 'readwrite'
  readonly durability: 'strict' | 'relaxed'
  /** Aborted when the page freezes: the transaction is aborted then, and counts as lost. */
  readonly frozen?: AbortSignal
}

export async function transact<T>(
  database: IDBDatabase,
  { stores, mode, durability, frozen }: TransactionTerms,
  work: (tx: IDBTransaction) => T | Promise<T>,
  timer: Clock,
  asked?: (result: T) => void,
): Promise<T> {
  let tx: IDBTransaction
  try {
    tx = database.transaction([...stores], mode, { durability })
  } catch (error) {
    throw translated(error, database.name)
  }
  const ended = ending(tx)
  const onFreeze = (): void => void abort(tx)
  frozen?.addEventListener('abort', onFreeze)
  const limits = [timeLimit(tx, timer), closing(database, tx)]
  try {
    return await Promise.race([run(tx, work, ended, database.name, asked), ...limits.map(({ passed }) => passed)])
  } finally {
    frozen?.removeEventListener('abort', onFreeze)
    for (const { lift } of limits) lift()
  }
}

type Ending = { readonly isComplete: true } | { readonly isComplete: false; readonly error: DOMException | null }

/** An error without an abort is one that the work has dealt with. */
function ending(tx: IDBTransaction): Promise<Ending> {
  return new Promise((resolve) => {
    tx.oncomplete = () => resolve({ isComplete: true })
    tx.onabort = () => resolve({ isComplete: false, error: tx.error })
  })
}

async function run<T>(
  tx: IDBTransaction,
  work: (tx: IDBTransaction) => T | Promise<T>,
  ended: Promise<Ending>,
  name: string,
  asked?: (result: T) => void,
): Promise<T> {
  let result: T
  try {
    result = await work(tx)
    commit(tx)
  } catch (error) {
    const isAbortedByUs = abort(tx)
    const end = await ended
    // what the work says of a transaction that the engine has aborted is only the consequence
    if (isOfRequest(error)) throw translated((end.isComplete ? null : end.error) ?? error, name)
    if (isAbortedByUs || end.isComplete) throw error
    throw translated(end.error, name)
  }
  asked?.(result)
  const end = await ended
  if (end.isComplete) return result
  throw translated(end.error, name)
}

/**
 * Tells the engine that nothing more is asked for, which saves a fifth of a short transaction. Only where a request that
 * fails afterwards still undoes everything: Firefox (153) completes what is left. It, and every engine that has not been
 * tried, ends the transaction by itself.
 */
function commit(tx: IDBTransaction): void {
  if (!/Chrom(?:e|ium)\//.test(globalThis.navigator?.userAgent)) return
  try {
    tx.commit?.()
  } catch (error) {
    if (!isOver(error)) throw error
  }
}

/** Whether it was still to be aborted. */
function abort(tx: IDBTransaction): boolean {
  try {
    tx.abort()
    return true
  } catch (error) {
    if (!isOver(error)) throw error
    return false
  }
}

const isOver = (error: unknown): boolean => nameOf(error) === 'InvalidStateError'

/** From when on nothing more will be heard of a transaction. */
interface Limit {
  readonly passed: Promise<never>
  lift(): void
}

/** The browser has taken the connection away: Chromium (156) then says nothing of what was under way, be it done or not. */
function closing(database: IDBDatabase, tx: IDBTransaction): Limit {
  let lift = (): void => {}
  const passed = new Promise<never>((_, reject) => {
    const onClose = (): void => {
      abort(tx)
      reject(new Lost(new DOMException('the browser closed the connection', 'AbortError')))
    }
    database.addEventListener('close', onClose)
    lift = () => database.removeEventListener('close', onClose)
  })
  return { passed, lift }
}

/**
 * One that gets answers may take as long as it needs. And a page that was frozen wakes up to a timer that has long passed,
 * before it hears what became of its transaction: after one that comes much too late it is waited once more.
 */
function timeLimit(tx: IDBTransaction, timer: Clock): Limit {
  let lift = (): void => {}
  const passed = new Promise<never>((_, reject) => {
    const arm = (mayBeLate: boolean): void => {
      const since = timer.monotonic()
      const answers = answersIn(tx)
      lift = timer.after(SILENCE_MS, () => {
        if (answersIn(tx) > answers) return arm(mayBeLate)
        if (mayBeLate && timer.monotonic() - since > 2 * SILENCE_MS) return arm(false)
        abort(tx)
        reject(new Lost(new DOMException(`a transaction got no answer for ${SILENCE_MS} ms`, 'TimeoutError')))
      })
    }
    arm(true)
  })
  return { passed, lift: () => lift() }
}

/* A request as a promise that can tell its own failure from a mistake of ours, and counts as progress. */

const failures = new WeakSet<object>()
const answers = new WeakMap<IDBTransaction, number>()

/**
 * The result of one request; rejects with its error. Not to await it loses nothing: its error aborts the transaction,
 * and that is heard.
 */
export function done<T>(request: IDBRequest<T>): Promise<T> {
  const answer = new Promise<T>((resolve, reject) => {
    request.onsuccess = () => {
      const { transaction } = request
      if (transaction) answers.set(transaction, answersIn(transaction) + 1)
      resolve(request.result)
    }
    request.onerror = () => {
      const { error } = request
      if (error) failures.add(error)
      reject(error)
    }
  })
  answer.catch(() => {}) // as above: it need not be awaited
  return answer
}

/** Whether `done` has rejected with it: the storage failed, and not what was asked of it. */
function isOfRequest(error: unknown): boolean {
  return typeof error === 'object' && error !== null && failures.has(error)
}

/** Requests of `tx` that have been answered so far, of those that went through `done`. */
function answersIn(tx: IDBTransaction): number {
  return answers.get(tx) ?? 0
}
