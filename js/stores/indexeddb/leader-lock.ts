/**
 * Leadership as a lock: one tab holds it, others queue. A tab that is hidden wakes once a minute, or is frozen, so it does
 * not keep the lead from one that is looked at. Two marks, locks as well, say who is concerned: a tab that waits and is
 * visible has, or queues for, the one, and to it a hidden leader gives way; a leader that is hidden holds the other, by which
 * a visible tab knows that it may take the lead. Each sets its own mark before it looks for the other's.
 *
 * A tab that has lost the lead like that does not hear of it, and is granted it anew when its turn comes: two leaders do no harm.
 */

import type { Leader } from '../../api/store.ts'
import { Lock, snapshot } from './locks.ts'

/** The part of a document that matters here; a worker has none. */
export type Page = Pick<Document, 'visibilityState' | 'addEventListener' | 'removeEventListener'>

interface Wanted {
  readonly name: string
  /** The mark of a leader that is hidden. */
  readonly hidden: string
  /** The mark of tabs that wait and are visible. */
  readonly visible: string
  readonly granted: () => void
}

export class LeaderLock implements Leader {
  readonly #locks: LockManager
  readonly #name: string
  readonly #page: Page | undefined
  #wanted: Wanted | undefined
  #lock: Lock | undefined
  #hidden: Lock | undefined
  #visible: Lock | undefined

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
    this.resign()
    this.#wanted = { name, hidden: `${this.#name}?hidden${suffix}`, visible: `${this.#name}?visible${suffix}`, granted }
    this.#page?.addEventListener('visibilitychange', this.#turned)
    this.#ask()
    void this.#look()
  }

  resign(): void {
    this.#page?.removeEventListener('visibilitychange', this.#turned)
    this.#wanted = undefined
    this.#drop()
  }

  get #isHidden(): boolean {
    return this.#page?.visibilityState === 'hidden'
  }

  readonly #turned = (): void => {
    this.#unmark()
    if (!this.#isHidden) void this.#look()
    else if (this.#lock?.isHeld) void this.#giveWay()
  }

  #drop(): void {
    this.#lock?.drop()
    this.#lock = undefined
    this.#unmark()
  }

  #unmark(): void {
    this.#hidden?.drop()
    this.#visible?.drop()
    this.#hidden = undefined
    this.#visible = undefined
  }

  /** Queues for it, or takes it away. */
  #ask(isStolen = false): void {
    const wanted = this.#wanted
    if (!wanted) return
    const before = this.#lock
    const lock = new Lock(this.#locks, wanted.name, { isStolen })
    this.#lock = lock
    before?.drop()
    void lock.granted.then(() => {
      if (this.#lock !== lock) return
      this.#unmark()
      // also where it was refused: without locks each that wants it has it
      wanted.granted()
      if (this.#isHidden) void this.#giveWay()
    })
    void Promise.all([lock.granted, lock.ended]).then(([wasHeld]) => {
      if (this.#lock !== lock || !wasHeld) return
      this.#drop()
      this.#ask() // it was taken away: behind the one who has it now
    })
  }

  /** A visible tab that waits need not wait for a hidden leader. */
  async #look(): Promise<void> {
    const lock = this.#lock
    const wanted = this.#wanted
    if (!lock || !wanted || lock.isHeld || this.#isHidden) return
    this.#visible ??= new Lock(this.#locks, wanted.visible)
    const locks = await snapshot(this.#locks)
    if (this.#lock !== lock || lock.isHeld) return
    // the lock manager does not answer: as if there were no locks
    if (!locks) return wanted.granted()
    if (this.#isHidden || !locks.held.has(wanted.hidden)) return
    this.#ask(true)
    // the mark is another's, who may be frozen and cannot take it back
    const mark = new Lock(this.#locks, wanted.hidden, { isStolen: true })
    void mark.granted.then(() => mark.drop())
  }

  /** A hidden leader queues again behind the tabs that wait, should one of them be visible. A tab that waits later finds the mark. */
  async #giveWay(): Promise<void> {
    const lock = this.#lock
    const wanted = this.#wanted
    if (!lock || !wanted || this.#hidden) return
    const mark = new Lock(this.#locks, wanted.hidden)
    this.#hidden = mark
    if (!(await mark.granted)) return
    const locks = await snapshot(this.#locks)
    if (this.#hidden !== mark || !locks?.held.has(wanted.visible)) return
    this.#drop()
    this.#ask()
  }
}
