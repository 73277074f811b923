/**
 * Stands right before a store and tells the book of each call that was done, whether its answer arrives anywhere or not.
 * It changes nothing.
 */

import type { Enqueued, NamedAt, NewTask, TaskStore, Turn } from '../../js/api/store.ts'
import type { Book } from './book.ts'
import { enqueued } from './enqueues.ts'
import type { Principal } from './known.ts'
import { cancelled, flushed, purged, redriven, unparked } from './orders.ts'
import type { Page } from './page.ts'
import { turned } from './turns.ts'

/** Calls on their way. */
export class Traffic {
  readonly #calls = new Set<{ readonly page: Page | undefined }>()

  /** Whether something still happens by itself. The calls of a page that is frozen wait until it is back. */
  get isBusy(): boolean {
    for (const { page } of this.#calls) if (!page?.isFrozen) return true
    return false
  }

  /** Returns what ends the call. */
  begin(page: Page | undefined): () => void {
    const call = { page }
    this.#calls.add(call)
    return () => this.#calls.delete(call)
  }
}

/** `owner` names the process in the book; `page`: it is a tab. */
export function recorder(store: TaskStore, book: Book, owner: string, traffic: Traffic, page?: Page): TaskStore {
  const told = <T>(work: Promise<T>, tell?: (answer: T) => void, fail?: () => void): Promise<T> => {
    const end = traffic.begin(page)
    return work.then(
      (answer) => {
        end()
        tell?.(answer)
        return answer
      },
      (error) => {
        end()
        fail?.()
        throw error
      },
    )
  }
  const { homes, principals, leader, graceMs } = store
  /** Asked for, and not answered yet. */
  const unparking = new Set<Parameters<NonNullable<TaskStore['unpark']>>[0]>()
  return {
    durability: 'strict',
    idleCheckMs: store.idleCheckMs,
    ...(graceMs === undefined ? {} : { graceMs }),
    ...(store.configure ? { configure: (terms) => store.configure?.(terms) } : {}),
    enqueue: (tasks: readonly NewTask[], lease) => {
      book.shows('the store', tasks)
      return told(store.enqueue(tasks, lease), (answers: readonly Enqueued[]) => enqueued(book, tasks, answers))
    },
    turn: (step) => {
      book.shows('the store', step.settle)
      const before = [...unparking]
      const { lastToken } = book
      const after: (() => void)[] = []
      book.turning.add(after)
      const over = () => {
        book.turning.delete(after)
        for (const tell of after) tell()
      }
      const tell = (turn: Turn) => {
        // what was asked first was done first, whichever answer comes first
        for (const filter of before) if (unparking.has(filter)) unparked(book, filter)
        turned(book, owner, step, turn, lastToken)
        over()
      }
      return told(store.turn(step), tell, over)
    },
    cancel: (taskId, as) => {
      const before = [...book.turning]
      return told(store.cancel(taskId, as), (said) => {
        const tell = () => {
          // one that was asked before, and has not been answered, may have claimed it
          const turn = before.find((each) => book.turning.has(each))
          const waits = turn && said === 'requested' && book.tasks.get(taskId)?.status === 'PENDING'
          if (waits) turn.push(tell)
          else cancelled(book, taskId, as, said)
        }
        tell()
      })
    },
    redrive: (taskIds, options) =>
      told(store.redrive(taskIds, options), (said) => redriven(book, taskIds, options, said)),
    flush: (lane) => told(store.flush(lane), () => flushed(book, lane)),
    unpark: (filter) => {
      unparking.add(filter)
      const done = told(store.unpark?.(filter) ?? Promise.resolve(0), () => unparked(book, filter))
      return done.finally(() => unparking.delete(filter))
    },
    purge: (filter) => told(store.purge(filter), (count) => purged(book, filter, count)),
    purgeAll: () => told(store.purgeAll(), (count) => purged(book, {}, count)),
    body: (taskId) => told(store.body(taskId)),
    find: (key, principal) => told(store.find(key, principal)),
    get: (taskId) => told(store.get(taskId)),
    list: (filter) => told(store.list(filter)),
    attempts: (taskId, page) => told(store.attempts(taskId, page)),
    counts: () => told(store.counts()),
    ...(store.hasChanged ? { hasChanged: () => told(store.hasChanged?.() ?? Promise.resolve(true)) } : {}),
    ...(store.subscribe ? { subscribe: (listener) => store.subscribe?.(listener) ?? (() => {}) } : {}),
    ...(homes
      ? {
          homes: {
            holdHome: (home, forMs) => told(homes.holdHome(home, forMs)),
            live: () => told(homes.live()),
            areHeard: homes.areHeard === true,
          },
        }
      : {}),
    ...(principals
      ? {
          principals: {
            current: () => told(principals.current()),
            // before anybody hears of it
            switchTo: (principal, namedAt, login = '') => {
              book.logins.delete(login)
              switched(book, owner, principal, namedAt())
              return told(principals.switchTo(principal, namedAt, login))
            },
            logIn: (login, forMs, isUnderWay) => {
              const kept = () => {
                if (isUnderWay() && !book.gone.has(owner)) book.logins.set(login, owner)
              }
              return told(principals.logIn(login, forMs, isUnderWay), kept)
            },
          },
        }
      : {}),
    ...(leader ? { leader } : {}),
    ...(store.suspend ? { suspend: () => rested(store, book, owner) } : {}),
    close: () => store.close(),
  }
}

/** A declaration counts where none was made after it: as its queue has said, and as it was. */
function switched(book: Book, owner: string, principal: string | null, { since, now }: NamedAt): void {
  const isOld = book.session !== undefined && since < book.sessionSince && book.sessionSince <= now
  const namedAt = book.named.get(owner) ?? 0
  const isLate = book.session !== undefined && namedAt < book.sessionAt
  const what = `${owner} says that ${principal} is there since ${since}, as was said at ${namedAt} ms`
  book.note(() => `${what}${isOld ? ': too old to count' : ''}`)
  // one that was on its way while the clock was set back may be taken for too old: its tasks wait until it is named again
  const fits = isOld === isLate || (isOld && book.putBackMs > 0)
  book.expect(fits, 'S16', () => `${what}; ${book.session} was named at ${book.sessionAt} ms`)
  if (isOld) return
  book.session = principal as Principal | null
  book.sessionSince = since
  book.sessionAt = namedAt
}

function rested(store: TaskStore, book: Book, owner: string): void {
  book.note(() => `${owner} lets go`)
  book.loosen(owner)
  store.suspend?.()
}
