/** The way from a process to its store: what fails before or after it was done, comes late, or never. */

import type { Enqueued, Hint, NewTask, Present, Step, TaskStore } from '../../js/api/store.ts'
import type { TabHint } from './browser.ts'
import type { Gate } from './gate.ts'
import type { Health } from './health.ts'
import type { StoreFault } from './scenario.ts'
import type { VirtualTime } from './time.ts'

/** How a store fails that cannot be reached. */
export class StoreDown extends Error {
  override readonly name = 'StoreDown'
}

export interface Trouble {
  readonly fault: StoreFault
  calls: number
  readonly ms: number
}

/** Until when the store is away for all processes, and whether calls fail meanwhile or arrive when it is back. */
export interface Silence {
  readonly until: number
  readonly hangs: boolean
}

export interface Way {
  readonly gate: Gate
  readonly time: VirtualTime
  /** What goes wrong with the next calls, first come first. */
  readonly troubles: Trouble[]
  readonly silence?: Silence
  /** What becomes of the next hints. */
  readonly hints: { count: number; readonly ms: number }[]
  readonly health: Health
  /** Kills the process. */
  crash(): void
  /** A turn is asked for. */
  asked?(step: Step): void
  /** An answer about new tasks has reached the process. */
  enqueued?(tasks: readonly NewTask[], answers: readonly Enqueued[]): void
  /** A claim's answer has reached the process. */
  claimed(taskId: string, token: number): void
  /** The method of each call, in order. */
  called?(method: string): void
  /** It has asked, or said, who is there. */
  learned?(present: Present): void
  /** A hint reaches the process. */
  heard?(hint: Hint): void
}

const never = <T>(): Promise<T> => new Promise<T>(() => {})

/** What becomes of a message: it arrives, late or never. `hints` false: none ever does. */
export function overChannel({ hints, health, time }: Way, isOpen: boolean, arrive: () => void): void {
  const fate = hints[0]
  if (fate && --fate.count <= 0) hints.shift()
  if (isOpen && !fate) {
    arrive()
    return
  }
  health.trouble()
  if (isOpen && fate && fate.ms > 0) time.after(fate.ms, arrive)
}

/** `hints` false: the store tells nobody anything, and is looked at each second; in a browser, only what is sure is heard. */
export function faultyStore(store: TaskStore, way: Way, hints: boolean): TaskStore {
  const { gate, time, health } = way
  const later = async (ms: number) => {
    health.delayed++
    await new Promise<void>((resolve) => time.after(ms, resolve))
    health.delayed--
  }

  const reach = async <T>(fault: StoreFault | undefined, ms: number, run: () => Promise<T>): Promise<T> => {
    if (fault === 'fail-before') throw new StoreDown('the store cannot be reached')
    if (fault === 'delay-before') await later(ms)
    // what is on its way arrives, whoever sent it; what was never sent does not
    if (!gate.alive) return never()
    const answer = await run()
    if (fault === 'fail-after') throw new StoreDown('the store did it, and its answer was lost')
    if (fault === 'delay-after') await later(ms)
    return answer
  }

  const call = <T>(method: string, run: () => Promise<T>): Promise<T> => {
    if (!gate.alive) return never()
    way.called?.(method)
    const { until = 0, hangs = false } = way.silence ?? {}
    const silentMs = until - time.elapsed
    if (silentMs > 0) {
      health.trouble()
      return gate.answer(reach(hangs ? 'delay-before' : 'fail-before', silentMs, run))
    }
    const trouble = way.troubles[0]
    if (trouble && --trouble.calls <= 0) way.troubles.shift()
    if (!trouble) return gate.answer(run())
    health.trouble()
    if (trouble.fault === 'crash-before') {
      way.crash()
      return never()
    }
    if (trouble.fault === 'crash-after') {
      // done, and its answer is heard by nothing. Not before: a process that is gone runs no code of its store's either
      run()
        .catch(() => undefined)
        .then(() => way.crash())
      return never()
    }
    return gate.answer(reach(trouble.fault, trouble.ms, run))
  }

  /** Locks are no storage: they do not fail with it. */
  const ask = <T>(method: string, run: () => Promise<T>): Promise<T> => {
    if (!store.homes?.areHeard) return call(method, run)
    if (!gate.alive) return never()
    way.called?.(method)
    return gate.answer(run())
  }

  /** What becomes of a hint. */
  const deliver = (hint: Hint, listener: (hint: Hint) => void) => {
    const arrive = () =>
      gate.enter(() => {
        way.heard?.(hint)
        listener(hint)
      })
    if ((hint as TabHint).isSure) arrive()
    else overChannel(way, hints, arrive)
  }

  const { homes, principals, leader, graceMs } = store
  const looks = hints || graceMs !== undefined
  return {
    durability: store.durability,
    idleCheckMs: looks ? store.idleCheckMs : 1_000,
    ...(graceMs === undefined ? {} : { graceMs }),
    ...(store.configure ? { configure: (terms) => gate.alive && store.configure?.(terms) } : {}),
    enqueue: async (tasks, lease) => {
      const answers = await call('enqueue', () => store.enqueue(tasks, lease))
      way.enqueued?.(tasks, answers)
      return answers
    },
    turn: async (step) => {
      way.asked?.(step)
      const answered = health.claims(step.claim)
      const turn = await call('turn', () => store.turn(step))
      answered(turn.claimed.length)
      for (const { task, lease } of turn.claimed) way.claimed(task.taskId, lease.token)
      return turn
    },
    cancel: (taskId, as) => call('cancel', () => store.cancel(taskId, as)),
    redrive: (taskIds, options) => call('redrive', () => store.redrive(taskIds, options)),
    flush: (lane) => call('flush', () => store.flush(lane)),
    unpark: (filter) => call('unpark', () => store.unpark?.(filter) ?? Promise.resolve(0)),
    purge: (filter) => call('purge', () => store.purge(filter)),
    purgeAll: () => call('purge', () => store.purgeAll()),
    body: (taskId) => call('body', () => store.body(taskId)),
    find: (key, principal) => call('find', () => store.find(key, principal)),
    get: (taskId) => call('get', () => store.get(taskId)),
    list: (filter) => call('list', () => store.list(filter)),
    attempts: (taskId, page) => call('attempts', () => store.attempts(taskId, page)),
    counts: () => call('counts', () => store.counts()),
    ...(store.hasChanged
      ? { hasChanged: () => call('hasChanged', () => store.hasChanged?.() ?? Promise.resolve(true)) }
      : {}),
    ...(store.subscribe && looks
      ? { subscribe: (listener) => store.subscribe?.((hint) => deliver(hint, listener)) ?? (() => {}) }
      : {}),
    ...(homes
      ? {
          homes: {
            holdHome: (owner, forMs) => ask('homes.holdHome', () => homes.holdHome(owner, forMs)),
            live: () => ask('homes.live', () => homes.live()),
            areHeard: homes.areHeard === true,
          },
        }
      : {}),
    ...(principals
      ? {
          principals: {
            current: async () => {
              const present = await call('principals.current', () => principals.current())
              way.learned?.(present)
              return present
            },
            // it may be refused: who is there is asked for next
            switchTo: (...named) => call('principals.switchTo', () => principals.switchTo(...named)),
            logIn: (...login) => call('principals.logIn', () => principals.logIn(...login)),
          },
        }
      : {}),
    ...(leader
      ? {
          leader: {
            want: (principal, granted) => gate.alive && leader.want(principal, () => gate.enter(granted)),
            resign: () => gate.alive && leader.resign(),
          },
        }
      : {}),
    ...(store.suspend ? { suspend: () => gate.alive && store.suspend?.() } : {}),
    close: () => call('close', () => store.close()),
  }
}
