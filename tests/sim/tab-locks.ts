/** One tab's locks: whether it leads, which homes it is, whether its leases are looked after, and whose end it hears of. */

import type { Leader } from '../../js/api/store.ts'
import type { Held, Locks } from './locks.ts'
import type { Page } from './page.ts'

const HOME = 'home '

interface Wanted {
  readonly name: string
  readonly granted: () => void
}

let tabs = 0

export class TabLocks implements Leader {
  readonly #locks: Locks
  readonly #page: Page
  readonly #hear: () => void
  readonly #guardName = `guard ${++tabs}`
  readonly #homes = new Map<string, Held>()
  readonly #watches = new Map<string, Held>()
  #wanted: Wanted | undefined
  #lead: Held | undefined
  #guard: Held | undefined
  /** Leases that were given while the guard was held as it is now. */
  #tokens = new Set<number>()

  /** `hear`: somebody whose end matters here is gone. */
  constructor(locks: Locks, page: Page, hear: () => void) {
    this.#locks = locks
    this.#page = page
    this.#hear = hear
    page.document.addEventListener('visibilitychange', () => this.#turned())
  }

  want(principal: string | null, granted: () => void): void {
    const name = leaderOf(principal)
    if (this.#wanted?.name === name) return
    this.resign()
    this.#wanted = { name, granted }
    this.#ask()
    this.look()
  }

  resign(): void {
    this.#wanted = undefined
    this.#lead?.release()
    this.#lead = undefined
  }

  holdHome(owner: string): void {
    const name = HOME + owner
    if (!this.#homes.has(name))
      this.#homes.set(
        name,
        this.#locks.request(this.#page, name, () => {}),
      )
  }

  dropHome(owner: string): void {
    this.#homes.get(HOME + owner)?.release()
    this.#homes.delete(HOME + owner)
  }

  liveHomes(): readonly string[] {
    const names = this.#locks.held().filter((name) => name.startsWith(HOME))
    for (const name of names) if (!this.#homes.has(name)) this.watch(name)
    return names.map((name) => name.slice(HOME.length)).sort()
  }

  /** Says whether this tab looks after the leases it is given now. */
  guard(): boolean {
    this.#guard ??= this.#locks.request(this.#page, this.#guardName, () => {})
    return this.#guard.isHeld
  }

  lookAfter(token: number): this {
    if (this.#guard?.isHeld) this.#tokens.add(token)
    return this
  }

  /** It was given under a guard, which is held still. */
  guards(token: number): boolean {
    return this.#tokens.has(token)
  }

  watchGuards(tabs: Iterable<TabLocks>): void {
    for (const tab of tabs) if (tab !== this) this.watch(tab.#guardName)
  }

  /** Lets go of everything. */
  suspend(): void {
    this.resign()
    this.dropHomes()
    this.dropGuard()
    for (const watching of this.#watches.values()) watching.release()
    this.#watches.clear()
  }

  dropHomes(): void {
    for (const home of this.#homes.values()) home.release()
    this.#homes.clear()
  }

  dropGuard(): void {
    this.#guard?.release()
    this.#guard = undefined
    this.#tokens.clear()
  }

  /** Hears once nobody has it any more. */
  watch(name: string): void {
    if (this.#watches.has(name)) return
    const gone = () => {
      this.#watches.get(name)?.release()
      this.#watches.delete(name)
      this.#hear()
    }
    this.#watches.set(name, this.#locks.request(this.#page, name, gone, { mode: 'shared' }))
  }

  #ask(steal = false): void {
    const wanted = this.#wanted
    if (!wanted) return
    const before = this.#lead
    const terms = {
      steal,
      // behind the one who has it now; the one that led is not told, and two leaders do no harm
      lost: () => this.#lead === lead && this.#ask(),
    }
    const granted = () => {
      if (this.#lead !== lead) return
      wanted.granted()
      this.giveWay()
    }
    const lead = this.#locks.request(this.#page, wanted.name, granted, terms)
    this.#lead = lead
    before?.release()
  }

  #turned(): void {
    if (this.#page.isHidden) this.giveWay()
    else this.look()
  }

  /** Hidden, and one that is seen waits: behind whoever waits by now. Where all are hidden it rests with somebody. */
  giveWay(): void {
    if (!this.#page.isHidden || !this.#wanted || !this.#lead?.isHeld) return
    if (this.#locks.waiting(this.#wanted.name).every((page) => (page as Page).isHidden)) return
    this.#lead.release()
    this.#lead = undefined
    this.#ask()
  }

  /** Seen, and waiting for one that is hidden. */
  look(): void {
    if (this.#page.isHidden || !this.#wanted || this.#lead?.isHeld) return
    const holder = this.#locks.holder(this.#wanted.name) as Page | undefined
    if (holder?.isHidden) this.#ask(true)
  }
}

export function leaderOf(principal: string | null): string {
  return `leader ${principal}`
}

export function homeOf(owner: string): string {
  return HOME + owner
}
