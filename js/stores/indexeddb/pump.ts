/**
 * The pump as a lock: one tab has it, others queue. A tab that is hidden wakes once a minute, or is frozen, so it does not
 * keep the pump from one that is looked at: going hidden it gives way to whoever queues, and while it holds the pump all
 * the same it holds a mark too, by which a tab that is visible knows that it may take the pump away.
 *
 * Who has lost the pump like that is not told, and is granted it anew when its turn comes: two that pump do no harm.
 */

import type { Pump } from '../store.ts'
import { Lock, snapshot } from './locks.ts'

/** What of a document matters here; a worker has none. */
export type Page = Pick<Document, 'visibilityState' | 'addEventListener' | 'removeEventListener'>

interface Wanted {
  readonly name: string
  /** Held beside it by who is hidden. */
  readonly mark: string
  readonly granted: () => void
}

export class PumpLock implements Pump {
  readonly #locks: LockManager
  readonly #name: string
  readonly #page: Page | undefined
  #wanted: Wanted | undefined
  #lock: Lock | undefined
  #mark: Lock | undefined
  /** Since it was last visible: where all are hidden, each gives way once, and then it rests with somebody. */
  #gaveWay = false

  /** `name` contains neither '?' nor ' '. */
  constructor(locks: LockManager, name: string, page: Page | undefined) {
    this.#locks = locks
    this.#name = name
    this.#page = page
  }

  want(principal: string | null, granted: () => void): void {
    const suffix = principal === null ? '' : ` ${principal}`
    const name = this.#name + suffix
    if (this.#wanted?.name === name) return
    this.release()
    this.#wanted = { name, mark: `${this.#name}?hidden${suffix}`, granted }
    this.#page?.addEventListener('visibilitychange', this.#turned)
    this.#ask()
    void this.#look()
  }

  release(): void {
    this.#page?.removeEventListener('visibilitychange', this.#turned)
    this.#wanted = undefined
    this.#letGo()
  }

  get #isHidden(): boolean {
    return this.#page?.visibilityState === 'hidden'
  }

  readonly #turned = (): void => {
    if (this.#isHidden) {
      if (this.#lock?.isHeld) void this.#giveWay()
      return
    }
    this.#gaveWay = false
    this.#mark?.letGo()
    this.#mark = undefined
    void this.#look()
  }

  #letGo(): void {
    this.#lock?.letGo()
    this.#mark?.letGo()
    this.#lock = undefined
    this.#mark = undefined
  }

  /** Queues for it, or takes it away. */
  #ask(isStolen = false): void {
    const wanted = this.#wanted
    if (!wanted) return
    const before = this.#lock
    const lock = new Lock(this.#locks, wanted.name, { isStolen })
    this.#lock = lock
    before?.letGo()
    void lock.granted.then(() => {
      if (this.#lock !== lock) return
      // also where it was refused: without locks each that wants it has it
      wanted.granted()
      if (this.#isHidden) void this.#giveWay()
    })
    void Promise.all([lock.granted, lock.ended]).then(([wasHeld]) => {
      if (this.#lock !== lock || !wasHeld) return
      this.#letGo()
      this.#ask() // it was taken away: behind the one who has it now
    })
  }

  /** Visible and waiting: whoever is hidden need not be waited for. */
  async #look(): Promise<void> {
    const lock = this.#lock
    const wanted = this.#wanted
    if (!lock || !wanted || lock.isHeld) return
    const locks = await snapshot(this.#locks)
    if (this.#lock !== lock || lock.isHeld) return
    // nobody answers: as if there were no locks
    if (!locks) return wanted.granted()
    if (this.#isHidden || !locks.held.has(wanted.mark)) return
    this.#ask(true)
    // the mark is another's, who may be frozen and cannot take it back
    const mark = new Lock(this.#locks, wanted.mark, { isStolen: true })
    void mark.granted.then(() => mark.letGo())
  }

  /** Hidden and holding it. First the mark, then a look: who queues later than that finds the mark. */
  async #giveWay(): Promise<void> {
    const lock = this.#lock
    const wanted = this.#wanted
    if (!lock || !wanted || this.#mark) return
    const mark = new Lock(this.#locks, wanted.mark)
    this.#mark = mark
    if (!(await mark.granted) || this.#gaveWay) return
    const locks = await snapshot(this.#locks)
    if (this.#mark !== mark || !locks?.queued.includes(wanted.name)) return
    this.#gaveWay = true
    this.#letGo()
    this.#ask()
  }
}
